// Small charts and lists of a window: sizes, lifetimes, threads, markers, addresses.
import { bytes, count, duration, percent } from "../common/format";
import { HeapModel, POWERS } from "./model";
import { Figures, sumPowers, Window } from "./windows";

/** "17 to 32", for index N of powers of two. */
function range(power: number, text: (value: number) => string): string {
  if (power === 0) return text(0);
  return power === 1 ? text(1) : `${text(2 ** (power - 1))} to ${text(2 ** power - 1)}`;
}

interface BarsProps {
  title: string;
  unit: string;
  counts: Float64Array;
  sizes: Float64Array;
  label(power: number): string;
}

/** Bars by power of two; each one is a line, so that the figures can be read. */
function Bars({ title, unit, counts, sizes, label }: BarsProps) {
  const powers = Array.from(counts.keys());
  const used = powers.filter((power) => counts[power] > 0);
  const shown = used.length === 0 ? [] : powers.slice(used[0], used[used.length - 1] + 1);
  const most = Math.max(1, ...shown.map((power) => counts[power]));
  return (
    <section class="chart">
      <h2>{title}</h2>
      {shown.length === 0 && <p class="dim">None in this window.</p>}
      {shown.length > 0 && (
        <table>
          <thead><tr><th class="number">{unit}</th><th class="number">blocks</th><th class="number">bytes</th><th class="bar-cell"><span class="hidden-label">share</span></th></tr></thead>
          <tbody>
            {shown.map((power) => (
              <tr key={power}>
                <td class="number">{label(power)}</td>
                <td class="number">{count(counts[power])}</td>
                <td class="number">{bytes(sizes[power])}</td>
                <td class="bar-cell"><div class="bar" style={{ width: `${(100 * counts[power]) / most}%` }} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

export function Sizes({ model, window }: { model: HeapModel; window: Window }) {
  return (
    <Bars
      title="Sizes of what was allocated" unit="bytes" label={(power) => range(power, count)}
      counts={sumPowers(model.sizeCount, POWERS, window)} sizes={sumPowers(model.sizeBytes, POWERS, window)}
    />
  );
}

export function Lifetimes({ model, window }: { model: HeapModel; window: Window }) {
  const label = (power: number) => (power === 0 ? "below 1 µs" : `${duration(1000 * 2 ** (power - 1))} or more`);
  return (
    <Bars
      title="Lifetimes of what was freed" unit="lived" label={label}
      counts={sumPowers(model.lifeCount, POWERS, window)} sizes={sumPowers(model.lifeBytes, POWERS, window)}
    />
  );
}

export function Threads({ model, figures, costName }: { model: HeapModel; figures: Figures; costName: string }) {
  const sums = new Map<number, { bytes: number; count: number }>();
  for (const { id } of model.info.threads) sums.set(id, { bytes: 0, count: 0 });
  for (let row = 0; row < model.rowThread.length; row++) {
    const sum = sums.get(model.rowThread[row])!;
    sum.bytes += figures.bytes[row];
    sum.count += figures.count[row];
  }
  const all = [...sums.values()].reduce((sum, one) => sum + Math.max(0, one.bytes), 0);
  const lines = [...sums].sort((a, b) => b[1].bytes - a[1].bytes || a[0] - b[0]);
  return (
    <section class="chart">
      <h2>Threads: {costName}</h2>
      <table>
        <thead><tr><th>thread</th><th class="number">blocks</th><th class="number">bytes</th><th class="number">share</th></tr></thead>
        <tbody>
          {lines.slice(0, 200).map(([id, sum]) => (
            <tr key={id}>
              <td class="name"><bdi>{model.threadName(id).slice(0, 200)}</bdi></td>
              <td class="number">{count(sum.count)}</td>
              <td class="number">{bytes(sum.bytes)}</td>
              <td class="number">{percent(Math.max(0, sum.bytes), all)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > 200 && <p class="dim">and {count(lines.length - 200)} more threads</p>}
    </section>
  );
}

const MARKERS_SHOWN = 500;

export function Markers({ model, window, onWindow }: { model: HeapModel; window: Window; onWindow(window: Window): void }) {
  const { markers, bin_width, bins, all_markers } = model.info;
  if (markers.length === 0) return null;
  const binOf = (time: number) => Math.min(bins - 1, Math.floor(time / bin_width));
  const inside = markers.map((marker, i) => ({ marker, i })).filter(({ marker }) => binOf(marker.time) >= window.from && binOf(marker.time) < window.to);
  const upToNext = (i: number) => {
    const from = binOf(markers[i].time);
    return { from, to: Math.max(from + 1, i + 1 < markers.length ? binOf(markers[i + 1].time) : bins) };
  };
  return (
    <section class="chart">
      <h2>Markers</h2>
      <table>
        <thead><tr><th>name</th><th class="number">time</th><th class="number">live</th><th class="number">peak after it</th><th><span class="hidden-label">window</span></th></tr></thead>
        <tbody>
          {inside.slice(0, MARKERS_SHOWN).map(({ marker, i }) => (
            <tr key={i}>
              <td class="name"><bdi>{marker.name.slice(0, 200)}</bdi></td>
              <td class="number">{duration(marker.time * 1000)}</td>
              <td class="number">{bytes(Number(marker.live_bytes))}</td>
              <td class="number">{bytes(Number(marker.peak_bytes))}</td>
              <td><button onClick={() => onWindow(upToNext(i))}>Show</button></td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">
        {count(inside.length)} of {count(all_markers)} markers are in this window.
        {inside.length > MARKERS_SHOWN && ` The first ${MARKERS_SHOWN} are listed.`}
        {all_markers > markers.length && ` The page has the first ${count(markers.length)}.`}
      </p>
    </section>
  );
}

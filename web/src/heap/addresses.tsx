// The history of the addresses that a report was made with: when blocks were there, and who allocated them.
import { useState } from "preact/hooks";
import { bytes, count, duration } from "../common/format";
import { AddressEvent, HeapModel } from "./model";

const EVENTS_SHOWN = 2000;
const FRAMES_SHOWN = 3;

/** The times at which a block was at an address, in microseconds from the start. */
export function livesOf(events: AddressEvent[], end: number): { from: number; to: number }[] {
  const lives: { from: number; to: number }[] = [];
  let open: number | null = null;
  for (const event of events) {
    if (event.unmatched) continue;
    if (event.event === "alloc") open = event.time;
    else {
      lives.push({ from: event.time - event.lifetime!, to: event.time });
      open = null;
    }
  }
  if (open !== null) lives.push({ from: open, to: end });
  return lives;
}

function Lives({ events, end }: { events: AddressEvent[]; end: number }) {
  const lives = livesOf(events, end);
  return (
    <div class="lives" role="img" aria-label={`Blocks were there ${count(lives.length)} times; the table has the times`}>
      {lives.map(({ from, to }) => <span style={{ left: `${(100 * from) / end}%`, width: `${(100 * (to - from)) / end}%` }} />)}
    </div>
  );
}

/** The innermost frames; all of them, with their places, once it is opened. */
function Who({ model, node }: { model: HeapModel; node: number }) {
  const { calls } = model;
  const [isOpen, setOpen] = useState(false);
  const frames = calls.stack(node);
  const name = (frame: number) => calls.shortName(calls.frameFunction[frame]).slice(0, 200);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><bdi>{frames.slice(0, FRAMES_SHOWN).map(name).join(" ← ")}{frames.length > FRAMES_SHOWN ? " …" : ""}</bdi></summary>
      {isOpen && <ol>{frames.map((frame) => <li><bdi>{name(frame)}</bdi> <bdi class="dim">{calls.place(frame)}</bdi></li>)}</ol>}
    </details>
  );
}

function What({ model, event, address }: { model: HeapModel; event: AddressEvent; address: string }) {
  if (event.unmatched) return <>no block is known</>;
  if (event.event === "free") return <>after {duration(event.lifetime! * 1000)}{event.implicit ? ": the address was allocated again" : ""}</>;
  return <>{event.block !== address && <>block at {event.block}</>}<Who model={model} node={event.node!} /></>;
}

export function Addresses({ model }: { model: HeapModel }) {
  const end = Math.max(1, Number(model.info.totals.duration));
  return (
    <>
      {model.info.addresses.map(({ address, events, count: all }) => (
        <section class="chart history" key={address}>
          <h2>History of {address}</h2>
          {events.length === 0 && <p class="dim">No block of this trace has the address.</p>}
          {events.length > 0 && (
            <>
              <Lives events={events} end={end} />
              <table>
                <thead><tr><th class="number">time</th><th>event</th><th class="number">size</th><th class="number">thread</th><th>what</th></tr></thead>
                <tbody>
                  {events.slice(0, EVENTS_SHOWN).map((event, i) => (
                    <tr key={i}>
                      <td class="number">{duration(event.time * 1000)}</td>
                      <td>{event.event}</td>
                      <td class="number" title={event.unmatched ? "" : `${count(event.size!)} bytes`}>{event.unmatched ? "" : bytes(event.size!)}</td>
                      <td class="number">{event.unmatched ? "" : event.thread}</td>
                      <td><What model={model} event={event} address={address} /></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </>
          )}
          {all > Math.min(events.length, EVENTS_SHOWN) && <p class="dim">{count(all)} events; the first {count(Math.min(events.length, EVENTS_SHOWN))} are listed.</p>}
        </section>
      ))}
    </>
  );
}

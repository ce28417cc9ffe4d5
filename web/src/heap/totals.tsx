// The exact totals of the trace, and those of the window.
import { bytes, count, counted, duration } from "../common/format";
import { HeapModel } from "./model";
import { Cost, Figures, peakBin, total, Window } from "./windows";

/** A number of 64 bits: "1,234,567". */
export function whole(text: string): string {
  return BigInt(text).toLocaleString("en-US");
}

/** "1 block" */
function wholeOf(text: string, word: string): string {
  return `${whole(text)} ${word}${text === "1" ? "" : "s"}`;
}

function Amount({ name, size, blocks, children }: { name: string; size: string; blocks: string; children?: string }) {
  return (
    <div class="amount">
      <dt>{name}</dt>
      <dd><b>{bytes(Number(size))}</b> <span>{`${wholeOf(size, "byte")} in ${wholeOf(blocks, "block")}`}{children}</span></dd>
    </div>
  );
}

export function TraceTotals({ model }: { model: HeapModel }) {
  const { totals } = model.info;
  const suppressed = BigInt(totals.suppressed_allocations) > 0n ? `, of which ${whole(totals.suppressed_bytes)} are suppressed` : "";
  return (
    <dl id="totals">
      <Amount name="Peak" size={totals.peak_bytes} blocks={totals.peak_allocations}>{`, after ${duration(Number(totals.peak_time) * 1000)}`}</Amount>
      <Amount name="Leaked" size={totals.leaked_bytes} blocks={totals.leaked_allocations}>{suppressed}</Amount>
      <Amount name="Allocated" size={totals.allocated_bytes} blocks={totals.allocations} />
      {!totals.sample_period && <Amount name="Temporary" size={totals.temporary_bytes} blocks={totals.temporary_allocations} />}
      <div class="amount"><dt>Time</dt><dd><b>{duration(Number(totals.duration) * 1000)}</b> <span>{`${wholeOf(totals.events, "event")}, ${wholeOf(totals.stacks, "stack")}`}{BigInt(totals.collections) > 0n && `, ${whole(totals.collections)} collections of ${whole(totals.collected_bytes)} bytes`}</span></dd></div>
    </dl>
  );
}

/** What a reader must know about the trace. */
export function Notes({ model }: { model: HeapModel }) {
  const { totals } = model.info;
  const notes: string[] = [];
  if (totals.sample_period) notes.push(`Figures are estimates from samples, one for every ${bytes(Number(totals.sample_period))}.`);
  if (totals.is_cut_off) notes.push("The recording was cut off: this is what it had.");
  if (totals.is_damaged) notes.push(`A part of the trace cannot be read: ${whole(totals.lost_events)} events are known to be missing.`);
  if (BigInt(totals.dropped) > 0n) notes.push(`${whole(totals.dropped)} events were lost while recording.`);
  if (model.info.folded > 0) notes.push(`${count(model.info.folded)} stacks that take little are shown as “(small stacks)” below their callers; sums have everything.`);
  return notes.length === 0 ? null : <p class="notes" role="note">{notes.join(" ")}</p>;
}

export const COST_TEXT: Record<Cost, { name: string; about: string }> = {
  peak: { name: "peak", about: "what was live when the window was at its peak" },
  leaked: { name: "leaked", about: "what was allocated in the window and never freed, without suppressed leaks" },
  allocated: { name: "allocated", about: "all that was allocated in the window" },
  temporary: { name: "temporary", about: "what was freed in the window, before its thread allocated anything else" },
  growth: { name: "growth", about: "how much more is live at the end of the window than at its beginning; graph and table have the stacks that grew" },
};

export function WindowText({ model, window, cost, figures, onReset }: { model: HeapModel; window: Window; cost: Cost; figures: Figures; onReset(): void }) {
  const { bins, bin_width: width } = model.info;
  const time = (bin: number) => duration(bin * width * 1000);
  const isWhole = window.from === 0 && window.to === bins;
  const peak = peakBin(model.entries, window);
  const at = cost === "peak" ? `, at ${duration((model.entries.peakTime[peak] - Number(model.info.totals.start)) * 1000)}` : "";
  return (
    <p id="window">
      <b>{isWhole ? (model.info.window_start === undefined ? "Whole trace" : "Whole window") : `Window from ${time(window.from)} to ${time(window.to)}`}</b>
      {`: ${counted(total(figures.bytes), "byte")} in ${counted(total(figures.count), "block")} ${COST_TEXT[cost].name}${at} `}
      <span class="dim">({COST_TEXT[cost].about}). {isWhole ? count(bins) : `${count(window.to - window.from)} of ${count(bins)}`} bins of {duration(width * 1000)}; windows snap to bins.</span>{" "}
      <button onClick={onReset} disabled={isWhole}>{model.info.window_start === undefined ? "Whole trace" : "Whole window"}</button>
    </p>
  );
}

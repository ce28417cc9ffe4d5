// Figures of a window: sums over the entries of its bins. A row is a stack on a thread.

export interface Entries {
  /** By bin: number of its first entry; one more at the end. */
  first: Uint32Array;
  row: Uint32Array;
  bytes: Float64Array;
  count: Float64Array;
  freedBytes: Float64Array;
  freedCount: Float64Array;
  temporaryBytes: Float64Array;
  temporaryCount: Float64Array;
  leakedBytes: Float64Array;
  leakedCount: Float64Array;
  /** Live at the peak of the bin, less what was live at its beginning. */
  atPeakBytes: Float64Array;
  atPeakCount: Float64Array;
  /** By bin. */
  peakBytes: Float64Array;
  peakTime: Float64Array;
  /** By row: what was live when the first bin began, if that is not the beginning of the trace. */
  before?: Figures;
}

export const COSTS = ["peak", "leaked", "allocated", "temporary", "growth"] as const;
export type Cost = (typeof COSTS)[number];

/** Bins from FROM to before TO. */
export interface Window {
  from: number;
  to: number;
}

export interface Figures {
  bytes: Float64Array;
  count: Float64Array;
}

function add(entries: Entries, from: number, to: number, out: Figures, bytes: Float64Array, count: Float64Array, sign = 1): void {
  const { first, row } = entries;
  for (let i = first[from]; i < first[to]; i++) {
    out.bytes[row[i]] += sign * bytes[i];
    out.count[row[i]] += sign * count[i];
  }
}

/** What is live by row when a bin begins. */
export function liveAt(entries: Entries, bin: number, rows: number): Figures {
  const { before } = entries;
  const out = { bytes: before?.bytes.slice() ?? new Float64Array(rows), count: before?.count.slice() ?? new Float64Array(rows) };
  add(entries, 0, bin, out, entries.bytes, entries.count);
  add(entries, 0, bin, out, entries.freedBytes, entries.freedCount, -1);
  return out;
}

/** The bin of a window whose peak is the highest. */
export function peakBin({ peakBytes }: Entries, { from, to }: Window): number {
  let best = from;
  for (let bin = from + 1; bin < to; bin++) if (peakBytes[bin] > peakBytes[best]) best = bin;
  return best;
}

/** What counts of each row in a window. Growth may be negative. */
export function figuresOf(entries: Entries, cost: Cost, window: Window, rows: number, isSuppressed: Uint8Array): Figures {
  const { from, to } = window;
  if (cost === "peak") {
    const bin = peakBin(entries, window);
    const out = liveAt(entries, bin, rows);
    add(entries, bin, bin + 1, out, entries.atPeakBytes, entries.atPeakCount);
    return out;
  }
  const out = { bytes: new Float64Array(rows), count: new Float64Array(rows) };
  if (cost === "leaked") {
    add(entries, from, to, out, entries.leakedBytes, entries.leakedCount);
    for (let row = 0; row < rows; row++) if (isSuppressed[row]) out.bytes[row] = out.count[row] = 0;
  } else if (cost === "temporary") {
    add(entries, from, to, out, entries.temporaryBytes, entries.temporaryCount);
  } else {
    add(entries, from, to, out, entries.bytes, entries.count);
    if (cost === "growth") add(entries, from, to, out, entries.freedBytes, entries.freedCount, -1);
  }
  return out;
}

/** The bytes that chosen rows have at the end of each bin. */
export function liveOver(entries: Entries, isChosen: Uint8Array): Float64Array {
  const bins = entries.first.length - 1;
  const live = new Float64Array(bins);
  let sum = 0;
  entries.before?.bytes.forEach((bytes, row) => (sum += isChosen[row] ? bytes : 0));
  for (let bin = 0; bin < bins; bin++) {
    for (let i = entries.first[bin]; i < entries.first[bin + 1]; i++)
      if (isChosen[entries.row[i]]) sum += entries.bytes[i] - entries.freedBytes[i];
    live[bin] = sum;
  }
  return live;
}

/** The sums by power of two over the bins of a window. */
export function sumPowers(table: Float64Array, powers: number, { from, to }: Window): Float64Array {
  const sums = new Float64Array(powers);
  for (let i = from * powers; i < to * powers; i++) sums[i % powers] += table[i];
  return sums;
}

export function total(list: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < list.length; i++) sum += list[i];
  return sum;
}

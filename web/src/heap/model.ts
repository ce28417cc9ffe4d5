// What the page of a heap trace is about. src/report/heap_page.c writes the tables.
import { Source, TableReader } from "../common/data";
import { Entries } from "./windows";

export interface Totals {
  peak_bytes: string;
  peak_allocations: string;
  peak_time: string;
  allocated_bytes: string;
  allocations: string;
  leaked_bytes: string;
  leaked_allocations: string;
  suppressed_bytes: string;
  suppressed_allocations: string;
  temporary_bytes: string;
  temporary_allocations: string;
  frees: string;
  unmatched_frees: string;
  implicit_frees: string;
  events: string;
  stacks: string;
  collections: string;
  collected_bytes: string;
  duration: string;
  start: string;
  lost_events: string;
  dropped: string;
  is_damaged: boolean;
  is_cut_off: boolean;
  sample_period?: string;
}

export interface Marker {
  name: string;
  time: number;
  live_bytes: string;
  live_allocations: string;
  peak_bytes: string;
}

export interface AddressEvent {
  event: "alloc" | "free";
  time: number;
  unmatched?: boolean;
  block?: string;
  size?: number;
  thread?: number;
  stack?: number;
  node?: number;
  lifetime?: number;
  implicit?: boolean;
}

export interface HeapInfo {
  kind: "heap";
  name: string;
  has_sources: boolean;
  command: string[];
  totals: Totals;
  bins: number;
  bin_width: number;
  entries: number;
  rows: number;
  /** How many stacks, on their threads, are in nodes "(small stacks)". */
  folded: number;
  points: number;
  point_width: number;
  threads: { id: number; name: string }[];
  markers: Marker[];
  all_markers: number;
  addresses: { address: string; events: AddressEvent[]; count: number }[];
  functions: number;
  frames: number;
  nodes: number;
  /** A window of a trace: when it begins, in microseconds since the start of the trace. */
  window_start?: number;
  /** How many events a window may have to be shown in finer bins; absent in a report. */
  fine_events?: number;
}

/** Numbers by power of two: index 0 is the value 0, index N holds the values from 2^(N-1) to 2^N - 1. */
export const POWERS = 65;

/** The tree of the stacks; functions and frames are numbered from 1. */
export class CallTable {
  readonly strings: string[];
  readonly functionName: Uint32Array;
  readonly functionShort: Uint32Array;
  readonly functionFile: Uint32Array;
  readonly isLibrary: Uint8Array;
  readonly frameFunction: Uint32Array;
  readonly frameLine: Uint32Array;
  readonly parent: Uint32Array;
  readonly frame: Uint32Array;

  constructor(table: TableReader, info: { functions: number; frames: number; nodes: number }) {
    this.strings = table.strings();
    this.functionName = shift(table.sums(new Uint32Array(info.functions - 1)));
    this.functionShort = shift(table.sums(new Uint32Array(info.functions - 1)));
    this.functionFile = shift(table.sums(new Uint32Array(info.functions - 1)));
    this.isLibrary = new Uint8Array(info.functions);
    this.isLibrary.set(table.numbers(new Uint8Array(info.functions - 1)), 1);
    this.frameFunction = shift(table.sums(new Uint32Array(info.frames - 1)));
    this.frameLine = shift(table.numbers(new Uint32Array(info.frames - 1)));
    this.parent = shift(table.numbers(new Uint32Array(info.nodes - 1)));
    for (let i = 1; i < info.nodes; i++) this.parent[i] = i - this.parent[i];
    this.frame = shift(table.sums(new Uint32Array(info.nodes - 1)));
  }

  name(of: number): string {
    return this.strings[this.functionName[of]] || "?";
  }

  shortName(of: number): string {
    return this.strings[this.functionShort[of]] || this.name(of);
  }

  file(of: number): string {
    return this.strings[this.functionFile[of]];
  }

  /** "file.c:12", or only what is known of it. */
  place(frame: number): string {
    const file = this.file(this.frameFunction[frame]);
    const line = this.frameLine[frame];
    return file === "" ? "" : line > 0 ? `${file}:${line}` : file;
  }

  /** The frames of a stack, the innermost first. */
  stack(node: number): number[] {
    const frames: number[] = [];
    for (let at = node; at !== 0; at = this.parent[at]) frames.push(this.frame[at]);
    return frames;
  }
}

/** Puts a 0 before the numbers. */
function shift(numbers: Uint32Array): Uint32Array {
  const list = new Uint32Array(numbers.length + 1);
  list.set(numbers, 1);
  return list;
}

export interface Timeline {
  peak: Float64Array;
  live: Float64Array;
}

export interface Excerpt {
  first: number;
  lines: string[];
}

export class HeapModel {
  calls!: CallTable;
  rowNode!: Uint32Array;
  rowStack!: Uint32Array;
  rowThread!: Uint32Array;
  rowIsSuppressed!: Uint8Array;
  entries!: Entries;
  collections!: Float64Array;
  collectedBytes!: Float64Array;
  sizeCount!: Float64Array;
  sizeBytes!: Float64Array;
  lifeCount!: Float64Array;
  lifeBytes!: Float64Array;
  timeline!: Timeline;
  /** By number of the file's name. */
  private readonly sources = new Map<number, Excerpt[]>();

  constructor(private readonly source: Source, readonly info: HeapInfo) {}

  async load(): Promise<void> {
    const { info } = this;
    const calls = new TableReader(await this.source.block("calls"));
    this.calls = new CallTable(calls, info);
    this.rowNode = calls.sums(new Uint32Array(info.rows));
    this.rowStack = calls.sums(new Uint32Array(info.rows));
    this.rowThread = calls.sums(new Uint32Array(info.rows));
    this.rowIsSuppressed = calls.numbers(new Uint8Array(info.rows));
    const bins = new TableReader(await this.source.block("bins"));
    const list = (count: number) => bins.numbers(new Float64Array(count));
    const counts = bins.numbers(new Uint32Array(info.bins));
    const peakBytes = list(info.bins);
    const peakTime = bins.sums(new Float64Array(info.bins));
    this.collections = list(info.bins);
    list(info.bins);
    this.collectedBytes = list(info.bins);
    this.sizeCount = list(info.bins * POWERS);
    this.sizeBytes = list(info.bins * POWERS);
    this.lifeCount = list(info.bins * POWERS);
    this.lifeBytes = list(info.bins * POWERS);
    await this.loadEntries(counts, peakBytes, peakTime);
    const points = new TableReader(await this.source.block("timeline"));
    this.timeline = { peak: points.numbers(new Float64Array(info.points)), live: points.numbers(new Float64Array(info.points)) };
    if (info.window_start !== undefined) {
      const before = new TableReader(await this.source.block("before"));
      this.entries.before = { bytes: before.numbers(new Float64Array(info.rows)), count: before.numbers(new Float64Array(info.rows)) };
    }
    if (info.has_sources) await this.loadSources();
  }

  private async loadEntries(counts: Uint32Array, peakBytes: Float64Array, peakTime: Float64Array): Promise<void> {
    const { info } = this;
    const table = new TableReader(await this.source.block("entries"));
    const first = new Uint32Array(info.bins + 1);
    for (let i = 0; i < info.bins; i++) first[i + 1] = first[i] + counts[i];
    const row = table.sums(new Uint32Array(info.entries));
    const list = () => table.numbers(new Float64Array(info.entries));
    const columns = { bytes: list(), count: list(), freedBytes: list(), freedCount: list(), temporaryBytes: list(), temporaryCount: list(), leakedBytes: list(), leakedCount: list() };
    const peak = { atPeakBytes: table.signed(new Float64Array(info.entries)), atPeakCount: table.signed(new Float64Array(info.entries)) };
    this.entries = { first, row, peakBytes, peakTime, ...columns, ...peak };
  }

  private async loadSources(): Promise<void> {
    const table = new TableReader(await this.source.block("sources"));
    const texts = table.strings();
    const files = table.numbers(new Uint32Array(texts.length));
    const lines = table.numbers(new Uint32Array(texts.length));
    texts.forEach((text, i) => {
      const list = this.sources.get(files[i]) ?? [];
      list.push({ first: lines[i], lines: text.replace(/\n$/, "").split("\n") });
      this.sources.set(files[i], list);
    });
  }

  /** The lines around a frame, if the page has them. */
  sourceOf(frame: number): Excerpt | null {
    const line = this.calls.frameLine[frame];
    const list = this.sources.get(this.calls.functionFile[this.calls.frameFunction[frame]]) ?? [];
    return list.find((one) => line >= one.first && line < one.first + one.lines.length) ?? null;
  }

  threadName(id: number): string {
    const name = this.info.threads.find((thread) => thread.id === id)?.name;
    return name ? `thread ${id} (${name})` : `thread ${id}`;
  }
}

// What the program says about a recording that is running: see src/view/live.c.

export interface Frame {
  file: string | null;
  line: number;
  function: string | null;
  library: boolean;
}

export interface Sums {
  live_bytes: number;
  live_blocks: number;
  allocations: number;
  allocated_bytes: number;
}

export interface Site extends Sums {
  stack: number;
  frames: Frame[];
}

export interface Thread extends Sums {
  number: number;
  name: string | null;
}

export type Order = keyof Sums;

export interface Figures extends Sums {
  time_us: number;
  start_us: number;
  allocations_per_s: number;
  frees_per_s: number;
  allocated_bytes_per_s: number;
  frees: number;
  peak_bytes: number;
  peak_time_us: number;
  events: number;
  dropped: number;
  sample_period: number;
  pid: number;
  site_count: number;
  markers: number;
  last_marker: string | null;
  ended: boolean;
  behind: boolean;
  sites: Site[];
  threads: Thread[];
  /** Microseconds since the start, and the most bytes that were live from each on. */
  course: { times: number[]; live_bytes: number[] };
}

/** The highest value of each of COLUMNS parts of the time up to END. A part without a point has what was before. */
export function spread(times: number[], values: number[], end: number, columns: number): Float64Array {
  const result = new Float64Array(columns);
  const columnOf = (time: number) => Math.min(columns - 1, Math.floor((time / Math.max(end, 1)) * columns));
  for (let i = 0; i < times.length; i++) {
    const from = columnOf(times[i]);
    const until = i + 1 < times.length ? columnOf(times[i + 1]) : columns - 1;
    for (let k = from; k <= until; k++) if (values[i] > result[k]) result[k] = values[i];
  }
  return result;
}

/** What is shown of a site: its first frame that is not of a library, or the first of all. */
export function mainFrame(site: Site): Frame | null {
  return site.frames.find((frame) => !frame.library) ?? site.frames[0] ?? null;
}

/** "parse.c:12" */
export function place(frame: Frame): string {
  const file = frame.file?.split("/").pop() ?? "";
  return file && frame.line > 0 ? `${file}:${frame.line}` : file;
}

// What the server knows of a file with functions, and what it is asked: see docs/pages.md.

export interface Info {
  file: string;
  format: string;
  version: number | null;
  build_id: string | null;
  file_id: string | null;
  arch: string | null;
  sources: string[];
  symbols: number;
  functions: number;
  inlines: number;
  lines: number;
  size: number;
  path?: string;
  return_pads?: number;
  units?: number;
  damaged_units?: number;
  missing_units?: number;
}

export interface PageInfo {
  kind: "symbols";
  name: string;
  /** How many lines the table has. */
  total: number;
  has_linkage_names: boolean;
  info: Info;
}

/** A line of the table. */
export interface Row {
  index: number;
  address: string;
  size: number;
  name: string;
  /** The bytes of a name that was cut. */
  name_size?: number;
  linkage_name?: string;
  type?: string;
  file?: string;
  line?: number;
  inlines?: number;
  aliases?: string[];
  alias_count?: number;
}

export interface Rows {
  total: number;
  found: number;
  from: number;
  rows: Row[];
}

export interface FunctionInfo {
  index: number;
  name: string;
  linkage_name: string | null;
  address: string;
  size: number;
  whole_start: string;
  whole_size: number;
  type?: string;
  file: string | null;
  aliases: string[];
  alias_count: number;
  ambiguous: boolean;
  inlines: number;
}

export interface Part<T> {
  total: number;
  from: number;
  items: T[];
}

export interface RangeItem { index: number; address: string; size: number; file: string | null }
export interface InlineItem {
  depth: number;
  function: string;
  address: string;
  size: number;
  file: string | null;
  call_file: string | null;
  call_line: number | null;
}
export interface LineItem { address: string; size: number; file: string | null; line: number | null; depth: number; function: string | null }
export interface PadItem { va: string; frames: { function: string; file: string | null; line: number | null }[] }

export interface Frame {
  function: string;
  file: string | null;
  line: number | null;
  start: string | null;
  inlined: boolean;
  aliases: string[];
  ambiguous: boolean;
  size?: number;
  offset?: number;
  type?: string;
  module?: string | null;
}

export interface ExplainedFrame {
  function: string;
  record: string;
  file: string | null;
  section: string | null;
  unit: string | null;
  unit_offset: string | null;
  entry: string;
  index: number | null;
  start: string | null;
  end: string | null;
  name_from: string | null;
  aliases: string[];
}

export interface Explanation {
  frames: ExplainedFrame[];
  line: { file: string | null; section: string | null; table: string; address: string | null; source: string | null; line: number | null; column: number | null } | null;
  why: string | null;
  tried: string[];
  todo: string[];
}

/** The answer to a question: ANSWER is what `lookup --explain --json` prints. */
export interface Answer {
  question: string;
  problem: string | null;
  /** The number of the function that has the address. */
  function: number | null;
  answer: { address: string; frames: Frame[]; explanation?: Explanation };
}

export type Parameters = Record<string, string | number>;

/** Asks the server; a refusal is an error with its text. */
export type Ask = <T>(name: string, parameters: Parameters, signal?: AbortSignal) => Promise<T>;

// What a size page is about: rows, each a symbol, or a change of one. src/report/size_page.c writes the tables.
import { Source, TableReader } from "../common/data";
import { namespaceOf, stripName } from "./names";

export interface Segment {
  container: string;
  section: string;
  is_bss: boolean;
}

export interface Section {
  container: string;
  name: string;
  file: number;
  memory: number;
  symbols: number;
  /** Also counted in the section ".other", and so not in the total. */
  is_in_other: boolean;
}

/** One build: its sections as the file lists them, and the header of the file. */
export interface Side {
  file_bytes: number;
  memory_bytes: number;
  sections: Section[];
  header: Header;
}

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export interface Container {
  name?: string;
  metadata?: Record<string, Json> | null;
  metrics_by_file?: Record<string, Record<string, number>>;
}

/** The header of a size file: containers are in a list, or there is one that has no list. */
export interface Header extends Container {
  build_config?: Record<string, Json>;
  containers?: Container[];
}

export interface PageInfo {
  kind: "size" | "sizediff";
  name: string;
  before_name?: string;
  rows: number;
  segments: Segment[];
  after: Side;
  before?: Side;
  /** Of a diff: how many symbols, and sums of proportional sizes. */
  change?: Record<(typeof STATUS)[number] | "before_bytes" | "after_bytes" | "bytes", number>;
  /** Is the source or the object of any row known? */
  has_paths?: boolean;
  /** How many functions were inlined, and the bytes of all code; of a binary with DWARF. */
  inlined?: number;
  /** Symbols that are summed up in rows "N small symbols", how many rows these are, and below which size. */
  small_symbols?: number;
  small_rows?: number;
  small_below?: number;
  code_bytes?: number;
}

export const STATUS = ["unchanged", "changed", "added", "removed"] as const;
export const FLAGS = [
  "anon", "startup", "unlikely", "rel", "rel.loc", "gen", "clone", "hot", "covered", "uncompressed", "feature",
];

/** Columns, one number a row. */
export interface Rows {
  count: number;
  segment: Uint32Array;
  path: Uint32Array;
  component: Uint32Array;
  /** With padding; in a diff, the change. */
  size: Float64Array;
  padding: Float64Array;
  flags: Uint32Array;
  aliases: Uint32Array;
  addressLow: Uint32Array;
  addressHigh: Uint32Array;
  /** The share of its bytes that is its own: sums of it count each byte once. */
  pss: Float64Array;
  status: Uint8Array | null;
  before: Float64Array | null;
  after: Float64Array | null;
}

export class SizeModel {
  readonly info: PageInfo;
  rows!: Rows;
  components!: string[];
  objects!: string[];
  sources!: string[];
  pathObject!: Uint32Array;
  pathSource!: Uint32Array;
  /** All stored names, one a line; row I has those between starts[I] and starts[I + 1] - 1. */
  names = "";
  nameStarts: Uint32Array = new Uint32Array(1);
  private lower: string | null | undefined;
  readonly disassembly = new Map<number, { before: string; after: string }>();
  private labels: { names: Uint32Array; namespaces: Uint32Array; texts: string[]; namespaceTexts: string[] } | null = null;

  constructor(private readonly source: Source) {
    this.info = source.json<PageInfo>();
  }

  get isDiff(): boolean {
    return this.info.kind === "sizediff";
  }

  /** Everything that a treemap by path, section or component needs. */
  async loadRows(): Promise<void> {
    const count = this.info.rows;
    const [symbols, paths] = await Promise.all([this.source.block("symbols"), this.source.block("paths")]);
    const table = new TableReader(symbols);
    const rows: Rows = {
      count,
      segment: table.sums(new Uint32Array(count)),
      path: table.sums(new Uint32Array(count)),
      component: table.sums(new Uint32Array(count)),
      size: table.signed(new Float64Array(count)),
      padding: table.signed(new Float64Array(count)),
      flags: table.numbers(new Uint32Array(count)),
      aliases: table.numbers(new Uint32Array(count)),
      addressLow: new Uint32Array(count),
      addressHigh: new Uint32Array(count),
      pss: new Float64Array(count),
      status: null,
      before: null,
      after: null,
    };
    const distance = table.signed(new Float64Array(count));
    table.sums(rows.addressHigh);
    for (let i = 0, next = 0; i < count; i++) {
      rows.addressLow[i] = next + rows.padding[i] + distance[i];
      next = rows.addressLow[i] + rows.size[i];
      rows.size[i] += rows.padding[i];
    }
    if (this.isDiff) {
      rows.status = table.numbers(new Uint8Array(count));
      rows.before = table.signed(new Float64Array(count));
      rows.after = table.signed(new Float64Array(count));
      rows.pss = table.doubles(count);
    } else {
      for (let i = 0; i < count; i++) rows.pss[i] = rows.size[i] / rows.aliases[i];
    }
    this.rows = rows;
    const lists = new TableReader(paths);
    this.components = lists.strings();
    this.objects = lists.strings();
    this.sources = lists.strings();
    const pathCount = rows.path.reduce((most, path) => (path >= most ? path + 1 : most), 0);
    this.pathObject = lists.sums(new Uint32Array(pathCount));
    this.pathSource = lists.sums(new Uint32Array(pathCount));
    this.info.has_paths = this.objects.length + this.sources.length > 2;
  }

  async loadNames(): Promise<void> {
    const bytes = await this.source.block("names");
    this.names = new TextDecoder().decode(bytes);
    const starts = new Uint32Array(this.info.rows + 1);
    for (let i = 1, at = 0; i <= this.info.rows; i++) starts[i] = at = this.names.indexOf("\n", at) + 1;
    this.nameStarts = starts;
  }

  async loadLabels(): Promise<void> {
    if (this.labels) return;
    const table = new TableReader(await this.source.block("labels"));
    const names = table.numbers(new Uint32Array(this.info.rows));
    const namespaces = table.numbers(new Uint32Array(this.info.rows));
    this.labels = { names, namespaces, texts: table.strings(), namespaceTexts: table.strings() };
  }

  /** All names in lower case, with the same places; null where letters have another length in lower case. */
  lowerNames(): string | null {
    if (this.lower === undefined) {
      const lower = this.names.toLowerCase();
      this.lower = lower.length === this.names.length ? lower : null;
    }
    return this.lower;
  }

  /** The stored disassembly of rows that have one: of the side before, and of the one after. */
  async loadDisassembly(): Promise<void> {
    const table = new TableReader(await this.source.block("disassembly"));
    const rows = table.allSums();
    const before = table.strings();
    const after = table.strings();
    rows.forEach((row, i) => this.disassembly.set(row, { before: before[i], after: after[i] }));
  }

  /** The rows at the same place: a symbol with several names. They follow one another. */
  aliasesOf(row: number): number[] {
    const { rows } = this;
    if (rows.aliases[row] < 2) return [];
    const isSame = (other: number) =>
      other >= 0 && other < rows.count && rows.segment[other] === rows.segment[row] && rows.aliases[other] === rows.aliases[row] &&
      rows.addressLow[other] === rows.addressLow[row] && rows.addressHigh[other] === rows.addressHigh[row];
    let first = row;
    while (isSame(first - 1) && row - first < rows.aliases[row]) first--;
    const list: number[] = [];
    for (let other = first; isSame(other) && list.length < rows.aliases[row]; other++) if (other !== row) list.push(other);
    return list;
  }

  isMethod(row: number): boolean {
    return this.info.segments[this.rows.segment[row]].section === ".dex.method";
  }

  name(row: number): string {
    return this.names.slice(this.nameStarts[row], this.nameStarts[row + 1] - 1);
  }

  /** Without parameters and template arguments. */
  shortName(row: number): string {
    const code = this.labels!.names[row];
    return code === 0 ? stripName(this.name(row)) : code === 1 ? this.name(row) : this.labels!.texts[code - 2];
  }

  namespace(row: number): string {
    const code = this.labels!.namespaces[row];
    return code === 0 ? namespaceOf(stripName(this.name(row))) : this.labels!.namespaceTexts[code - 1];
  }

  /** The source path, or the object path of a row without one. */
  pathText(path: number): string {
    return this.sources[this.pathSource[path]] || this.objects[this.pathObject[path]];
  }

  address(row: number): string {
    const { addressHigh, addressLow } = this.rows;
    const high = addressHigh[row] ? addressHigh[row].toString(16) : "";
    const low = addressLow[row].toString(16);
    return "0x" + high + (high ? low.padStart(8, "0") : low);
  }
}

// What a size page is about: rows, each a symbol, or a change of one. src/report/size_page.c writes the tables.
import { Source, TableReader } from "../common/data";
import { namespaceOf, stripName } from "./names";

export interface Segment {
  container: string;
  section: string;
  is_bss: boolean;
}

export interface PageInfo {
  kind: "size" | "sizediff";
  name: string;
  rows: number;
  segments: Segment[];
  file_bytes?: number;
  counts?: Record<"unchanged" | "changed" | "added" | "removed", number>;
  header: unknown;
  before?: unknown;
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

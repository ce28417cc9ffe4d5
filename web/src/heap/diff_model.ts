// Two heap traces that are compared. src/report/heap_diff_page.c writes the table.
import { Source, TableReader } from "../common/data";
import { CallTable, Totals } from "./model";

export interface HeapDiffInfo {
  kind: "heapdiff";
  name: string;
  before_name: string;
  before: Totals;
  after: Totals;
  rows: number;
  unchanged: number;
  changed: number;
  added: number;
  removed: number;
  functions: number;
  frames: number;
  nodes: number;
}

export const DIFF_COSTS = ["peak", "leaked", "allocated"] as const;
export type DiffCost = (typeof DIFF_COSTS)[number];

export class HeapDiffModel {
  calls!: CallTable;
  rowNode!: Uint32Array;
  /** 1 more than the number of the stack; 0: the side does not have it. */
  stackBefore!: Float64Array;
  stackAfter!: Float64Array;
  private before!: Float64Array[];
  private after!: Float64Array[];

  constructor(private readonly source: Source, readonly info: HeapDiffInfo) {}

  async load(): Promise<void> {
    const { info } = this;
    const table = new TableReader(await this.source.block("calls"));
    this.calls = new CallTable(table, info);
    this.rowNode = table.sums(new Uint32Array(info.rows));
    this.stackBefore = table.sums(new Float64Array(info.rows));
    this.stackAfter = table.sums(new Float64Array(info.rows));
    const six = () => Array.from({ length: 6 }, () => table.numbers(new Float64Array(info.rows)));
    this.before = six();
    this.after = six();
  }

  /** By row: what a cost takes on both sides. */
  figures(cost: DiffCost, isCount: boolean): { before: Float64Array; after: Float64Array } {
    const column = 2 * DIFF_COSTS.indexOf(cost) + (isCount ? 1 : 0);
    return { before: this.before[column], after: this.after[column] };
  }
}

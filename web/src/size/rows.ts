// What a page shows: rows with values, which can be grouped, filtered and searched. They are symbols, or functions that
// were inlined.
import { orderBySize } from "../common/order";
import { Tree } from "../common/tree";
import { componentRanks, sectionColor, changeColor, wheelColor } from "./colors";
import { Filter, Grouping, groupRows, applyFilter, labelRows, literal, matchLines, searchRows } from "./groups";
import { InlinedModel } from "./inlined";
import { SizeModel, STATUS } from "./model";

export type ColorKey = "section" | "component" | "growth";

export interface RowSource {
  readonly count: number;
  /** What is summed up: bytes, or a number of methods. */
  readonly values: Float64Array;
  readonly order: Uint32Array;
  makeTree(grouping: Grouping): Tree;
  /** 1 for each row that passes. */
  filter(filter: Filter): Uint8Array;
  /** 1 for each row whose path or name contains a text, in any case. */
  search(text: string): Uint8Array;
  shortName(row: number): string;
  fullName(row: number): string;
  path(row: number): string;
  color(row: number, by: ColorKey): string;
}

/** Symbols by their size, or by their change; or methods of dex files by their number. */
export class SymbolRows implements RowSource {
  readonly count: number;
  readonly values: Float64Array;
  readonly order: Uint32Array;
  private ranks: Uint32Array | null = null;
  private readonly sectionColors: string[];

  constructor(private readonly model: SizeModel, private readonly isMethodCount: boolean) {
    this.count = model.rows.count;
    this.values = isMethodCount ? methodCounts(model) : model.rows.pss;
    this.order = orderBySize(this.values);
    this.sectionColors = model.info.segments.map((segment) => sectionColor(segment.section));
  }

  makeTree(grouping: Grouping): Tree {
    return groupRows(labelRows(this.model, grouping), this.values, this.order);
  }

  filter(filter: Filter): Uint8Array {
    const mask = applyFilter(this.model, filter);
    if (this.isMethodCount) this.model.rows.segment.forEach((_, row) => this.model.isMethod(row) || (mask[row] = 0));
    return mask;
  }

  search(text: string): Uint8Array {
    return searchRows(this.model, text);
  }

  shortName(row: number): string {
    return this.model.shortName(row);
  }

  fullName(row: number): string {
    return this.model.name(row);
  }

  path(row: number): string {
    return this.model.pathText(this.model.rows.path[row]);
  }

  color(row: number, by: ColorKey): string {
    const { rows } = this.model;
    if (by === "growth" && this.model.isDiff) return changeColor(rows.pss[row], rows.before![row]);
    if (by === "component") {
      this.ranks ??= componentRanks(this.model);
      return wheelColor(this.ranks[rows.component[row]]);
    }
    return this.sectionColors[rows.segment[row]];
  }
}

/** 1 for a method, and in a diff 1 for one that was added and -1 for one that was removed. */
function methodCounts(model: SizeModel): Float64Array {
  const { rows } = model;
  const counts = new Float64Array(rows.count);
  const change = STATUS.map((name) => (name === "added" ? 1 : name === "removed" ? -1 : 0));
  for (let row = 0; row < rows.count; row++) if (model.isMethod(row)) counts[row] = rows.status ? change[rows.status[row]] : 1;
  return counts;
}

/** Functions that were inlined, by their own bytes in all places. */
export class InlinedRows implements RowSource {
  readonly count: number;
  readonly values: Float64Array;
  readonly order: Uint32Array;

  constructor(private readonly model: InlinedModel) {
    this.count = model.count;
    this.values = model.size;
    this.order = orderBySize(model.size);
  }

  makeTree(): Tree {
    return groupRows(this.model.labels(), this.values, this.order);
  }

  filter(filter: Filter): Uint8Array {
    const mask = new Uint8Array(this.count).fill(1);
    const included = filter.include ? this.match(filter.include) : null;
    const excluded = filter.exclude ? this.match(filter.exclude) : null;
    for (let row = 0; row < this.count; row++)
      if (this.values[row] < filter.minSize || included?.[row] === 0 || excluded?.[row] === 1) mask[row] = 0;
    return mask;
  }

  search(text: string): Uint8Array {
    return this.match(literal(text));
  }

  private match(pattern: RegExp): Uint8Array {
    const found = new Uint8Array(this.count);
    for (let row = 0; row < this.count; row++) found[row] = pattern.test(this.model.files[row]) ? 1 : 0;
    matchLines(this.model.names, this.model.nameStarts, pattern, found);
    return found;
  }

  shortName(row: number): string {
    return this.model.shortName(row);
  }

  fullName(row: number): string {
    return this.model.name(row);
  }

  path(row: number): string {
    return this.model.files[row];
  }

  color(): string {
    return sectionColor(".text");
  }
}

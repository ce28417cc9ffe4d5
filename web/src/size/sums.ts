// Sums over rows: by status, by section, of what a search found.
import { Tree } from "../common/tree";
import { SizeModel, STATUS } from "./model";

export interface Line {
  section: string;
  status: string;
  count: number;
  value: number;
}

/** What is in a group, by section, and by status in a diff; the largest first. */
export function breakdown(model: SizeModel, tree: Tree, group: number): Line[] {
  const { rows, info } = model;
  const lines = new Map<string, Line>();
  for (let row = 0; row < rows.count; row++) {
    if (!tree.passes(row) || (group !== 0 && !tree.isIn(-1 - row, group))) continue;
    const { section } = info.segments[rows.segment[row]];
    const status = rows.status ? STATUS[rows.status[row]] : "";
    const key = section + "\0" + status;
    let line = lines.get(key);
    if (line === undefined) lines.set(key, (line = { section, status, count: 0, value: 0 }));
    line.count++;
    line.value += tree.rowValues[row];
  }
  return [...lines.values()].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

/** The change in bytes by status. Memory that is only there at run time is not counted. */
export function bytesByStatus(model: SizeModel): Record<(typeof STATUS)[number], number> {
  const { rows, info } = model;
  const sums = STATUS.map(() => 0);
  for (let row = 0; row < rows.count; row++) if (!info.segments[rows.segment[row]].is_bss) sums[rows.status![row]] += rows.pss[row];
  return Object.fromEntries(STATUS.map((name, i) => [name, sums[i]])) as Record<(typeof STATUS)[number], number>;
}

/** The rows of FOUND that pass the filter of a tree. */
export function sumFound(tree: Tree, found: Uint8Array | null): { count: number; value: number } {
  const sum = { count: 0, value: 0 };
  if (found === null) return sum;
  for (let row = 0; row < found.length; row++)
    if (found[row] !== 0 && tree.passes(row)) {
      sum.count++;
      sum.value += tree.rowValues[row];
    }
  return sum;
}

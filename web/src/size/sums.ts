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
  const counts = new Float64Array(info.segments.length * STATUS.length);
  const values = new Float64Array(counts.length);
  tree.eachRow(group, (row) => {
    const key = rows.segment[row] * STATUS.length + (rows.status ? rows.status[row] : 0);
    counts[key]++;
    values[key] += tree.rowValues[row];
  });
  const lines = new Map<string, Line>();
  counts.forEach((count, key) => {
    if (count === 0) return;
    const { section } = info.segments[Math.floor(key / STATUS.length)];
    const status = rows.status ? STATUS[key % STATUS.length] : "";
    const name = section + "\0" + status;
    let line = lines.get(name);
    if (line === undefined) lines.set(name, (line = { section, status, count: 0, value: 0 }));
    line.count += count;
    line.value += values[key];
  });
  return [...lines.values()].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

/** The change in bytes by status. Memory that is only there at run time is not counted. */
export function bytesByStatus(model: SizeModel): Record<(typeof STATUS)[number], number> {
  const { rows, info } = model;
  const sums = STATUS.map(() => 0);
  for (let row = 0; row < rows.count; row++) if (!info.segments[rows.segment[row]].is_bss) sums[rows.status![row]] += rows.pss[row];
  return Object.fromEntries(STATUS.map((name, i) => [name, sums[i]])) as Record<(typeof STATUS)[number], number>;
}

/** What all symbols take in the file. */
export function symbolBytes(model: SizeModel): number {
  const { rows, info } = model;
  let sum = 0;
  for (let row = 0; row < rows.count; row++) if (!info.segments[rows.segment[row]].is_bss) sum += rows.pss[row];
  return sum;
}

/** The rows of FOUND in a group that pass the filter of a tree. */
export function sumFound(tree: Tree, found: Uint8Array | null, group: number): { count: number; value: number } {
  const sum = { count: 0, value: 0 };
  if (found === null) return sum;
  const isHere = group === 0 ? null : tree.groupsBelow(group);
  for (let row = 0; row < found.length; row++)
    if (found[row] !== 0 && (isHere === null || isHere[tree.groupOf(row)] !== 0) && tree.passes(row)) {
      sum.count++;
      sum.value += tree.rowValues[row];
    }
  return sum;
}

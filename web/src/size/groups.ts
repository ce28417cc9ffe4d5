// What rows can be grouped by, and which of them pass a filter.
import { Tree } from "../common/tree";
import { SizeModel } from "./model";

export const GROUPINGS = {
  path: "Path",
  component: "Component",
  section: "Section",
  namespace: "Namespace",
  template: "Template",
  container: "Container",
  inlined: "Inlined function",
} as const;
export type Grouping = keyof typeof GROUPINGS;

/** The labels of rows, and the number of each row's label. */
export interface Labelled {
  labels: string[];
  ofRow: Uint32Array;
  separator: string;
}

export function labelRows(model: SizeModel, grouping: Grouping): Labelled {
  const { rows, info } = model;
  switch (grouping) {
    case "path":
    case "inlined": {
      const labels = Array.from(model.pathSource, (_, path) => tidyPath(model.pathText(path)));
      return { labels, ofRow: rows.path, separator: "/" };
    }
    case "component":
      return { labels: model.components.map((text) => text || "(no component)"), ofRow: rows.component, separator: ">" };
    case "section":
      return { labels: info.segments.map((segment) => segment.section), ofRow: rows.segment, separator: "" };
    case "container": {
      const labels = info.segments.map((segment) => (segment.container || "(the file)") + "\0" + segment.section);
      return { labels, ofRow: rows.segment, separator: "\0" };
    }
    case "namespace":
      return intern(rows.count, (row) => model.namespace(row) || "(no namespace)", "::");
    case "template":
      return intern(rows.count, (row) => model.shortName(row) || "(no name)", "");
  }
}

/** Parts that are empty would be groups without a name. */
export function tidyPath(path: string): string {
  return path === "" ? "(no path)" : path.replace(/\/\/+/g, "/").replace(/(.)\/$/, "$1");
}

/** Labels that are computed for each row. Equal ones are often next to each other. */
export function intern(count: number, text: (row: number) => string, separator: string): Labelled {
  const known = new Map<string, number>();
  const labels: string[] = [];
  const ofRow = new Uint32Array(count);
  for (let row = 0; row < count; row++) {
    const value = text(row);
    let number = known.get(value);
    if (number === undefined) {
      known.set(value, (number = labels.length));
      labels.push(value);
    }
    ofRow[row] = number;
  }
  return { labels, ofRow, separator };
}

export function needsNames(grouping: Grouping): boolean {
  return grouping === "namespace" || grouping === "template";
}

/** A tree that has to be filtered before it is used. */
export function groupRows({ labels, ofRow, separator }: Labelled, values: Float64Array, order: Uint32Array): Tree {
  return new Tree(labels, ofRow, separator, values, order, false);
}

/** What a page lets through. */
export interface Filter {
  include: RegExp | null;
  exclude: RegExp | null;
  minSize: number;
  /** Segments that are left out. */
  hidden: Set<number>;
  flags: number;
  status: Set<number> | null;
}

/** 1 for each row that passes. Memory that is only there at run time has no bytes in the file, and is left out. */
export function applyFilter(model: SizeModel, filter: Filter): Uint8Array {
  const { rows, info } = model;
  const mask = new Uint8Array(rows.count);
  const isShown = info.segments.map((segment, i) => !segment.is_bss && !filter.hidden.has(i));
  const included = filter.include ? matchRows(model, filter.include) : null;
  const excluded = filter.exclude ? matchRows(model, filter.exclude) : null;
  for (let row = 0; row < rows.count; row++) {
    if (!isShown[rows.segment[row]]) continue;
    if (Math.abs(rows.pss[row]) < filter.minSize) continue;
    if (filter.flags !== 0 && (rows.flags[row] & filter.flags) === 0) continue;
    if (filter.status !== null && !filter.status.has(rows.status![row])) continue;
    if (included !== null && included[row] === 0) continue;
    if (excluded !== null && excluded[row] !== 0) continue;
    mask[row] = 1;
  }
  return mask;
}

/** Which rows have a path or a name that matches. */
export function matchRows(model: SizeModel, pattern: RegExp): Uint8Array {
  const found = matchPaths(model, pattern);
  const lower = lowerPattern(pattern);
  const names = lower && model.lowerNames();
  matchLines(names ?? model.names, model.nameStarts, names ? lower! : pattern, found);
  return found;
}

/** A pattern for text in lower case that finds the same, several times as fast as in any case; null if that is not safe. */
function lowerPattern(pattern: RegExp): RegExp | null {
  const { source } = pattern;
  if (!pattern.ignoreCase || /\\[A-Zxucpk0-9]|[^\0-\x7f]/.test(source)) return null;
  try {
    return new RegExp(source.toLowerCase());
  } catch {
    return null;
  }
}

function matchPaths(model: SizeModel, pattern: RegExp): Uint8Array {
  const { rows } = model;
  const found = new Uint8Array(rows.count);
  const paths = new Uint8Array(model.pathSource.length);
  for (let path = 0; path < paths.length; path++) paths[path] = pattern.test(model.pathText(path)) ? 1 : 0;
  for (let row = 0; row < rows.count; row++) found[row] = paths[rows.path[row]];
  return found;
}

/** A text as a pattern that matches it in any case. */
export function literal(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
}

/** Which rows have a path or a name that contains a text, in any case. */
export function searchRows(model: SizeModel, text: string): Uint8Array {
  const names = model.lowerNames();
  const wanted = text.toLowerCase();
  if (names === null || wanted.includes("\n")) return matchRows(model, literal(text));
  const found = matchPaths(model, literal(text));
  const starts = model.nameStarts;
  for (let row = 0, at = names.indexOf(wanted); at >= 0; at = names.indexOf(wanted, starts[row])) {
    row = lineAt(starts, at, row);
    if (row >= found.length) break;
    found[row++] = 1;
  }
  return found;
}

/** What in a pattern may match the end of a line. */
const SPANS_LINES = /\\n|\\r|\\s|\\W|\\D|\\P|\\S\\s|\[\^|\(\?|\\x|\\u|\\c/;

/**
 * Marks the lines of TEXT that match: line I begins at STARTS[I]. Looks through all lines at once, which is much faster
 * than one by one; a pattern that could go beyond a line is tried on each.
 */
export function matchLines(text: string, starts: Uint32Array, pattern: RegExp, found: Uint8Array): void {
  if (SPANS_LINES.test(pattern.source)) {
    for (let row = 0; row < found.length; row++)
      if (found[row] === 0 && pattern.test(text.slice(starts[row], starts[row + 1] - 1))) found[row] = 1;
    return;
  }
  const global = new RegExp(pattern.source, pattern.ignoreCase ? "gim" : "gm");
  // The end of a match is in its line, too; asking for no more than that makes no object for each match.
  for (let row = 0; row < found.length && global.test(text); ) {
    row = lineAt(starts, global.lastIndex, row);
    if (row >= found.length) break;
    found[row] = 1;
    global.lastIndex = starts[++row];
  }
}

/** The line that has the character AT, from line FROM on; it is mostly not far. */
function lineAt(starts: Uint32Array, at: number, from: number): number {
  let step = 1;
  while (from + step < starts.length && starts[from + step] <= at) step *= 2;
  let low = from + (step >> 1);
  let high = Math.min(from + step, starts.length);
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= at) low = middle;
    else high = middle;
  }
  return low;
}

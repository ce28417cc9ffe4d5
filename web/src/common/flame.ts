// The layout of a flame graph: a row a level, the width is what a call takes.
import { CallView } from "./calls";

export interface Bars {
  count: number;
  node: number[];
  x: number[];
  width: number[];
  depth: number[];
  levels: number;
}

/** Narrower than this is not drawn. */
const LEAST_WIDTH = 1;
const LEVELS_MAX = 512;

/**
 * Lays out NODE, with everything above it in full width and what is below it. In a comparison, a call that is only on the
 * other side has a width too.
 */
export function layFlame(view: CallView, node: number, width: number, isDiff: boolean): Bars {
  const bars: Bars = { count: 0, node: [], x: [], width: [], depth: [], levels: 0 };
  const weight = (of: number) => (isDiff ? Math.max(view.total(of), view.totalBefore(of)) : view.total(of));
  const add = (of: number, x: number, w: number, depth: number) => {
    bars.node.push(of);
    bars.x.push(x);
    bars.width.push(w);
    bars.depth.push(depth);
    bars.count++;
    if (depth >= bars.levels) bars.levels = depth + 1;
  };
  const above: number[] = [];
  for (let up = node; up !== 0; up = view.parent(up)) above.unshift(view.parent(up));
  above.forEach((up, depth) => add(up, 0, width, depth));
  const place = (of: number, x: number, w: number, depth: number) => {
    add(of, x, w, depth);
    if (depth >= LEVELS_MAX) return;
    const children = view.children(of);
    let sum = children.reduce((all, child) => all + weight(child), 0);
    sum = Math.max(sum, weight(of));
    if (sum <= 0) return;
    let at = x;
    for (const child of children) {
      const across = (w * weight(child)) / sum;
      if (across < LEAST_WIDTH) break;
      place(child, at, across, depth + 1);
      at += across;
    }
  };
  place(node, 0, width, above.length);
  return bars;
}

// The layout of a treemap: squares as far as possible, by Bruls, Huizing and van Wijk's method, down to a few pixels.
import { Tree } from "./tree";

/** What is smaller than this is drawn together with everything else that is. */
const LEAST_AREA = 8;
/** A group that is smaller than this is one cell. */
const LEAST_GROUP = 40;
const HEADER = 16;
const DEEPEST = 200;
const MARGIN = 1;

/** Rectangles in the order in which they are drawn: a group comes before what is in it. */
export interface Rectangles {
  count: number;
  x: Float32Array;
  y: Float32Array;
  width: Float32Array;
  height: Float32Array;
  /** The group, or -1 - ROW. */
  item: Int32Array;
  depth: Uint8Array;
  /** A group whose name is shown above what is in it. */
  hasHeader: Uint8Array;
  /** For a rectangle that is the rest of its group: the items in it, which are too small to be drawn. */
  rests: Map<number, Int32Array>;
}

class Builder {
  capacity = 1024;
  out: Rectangles = {
    count: 0,
    x: new Float32Array(1024),
    y: new Float32Array(1024),
    width: new Float32Array(1024),
    height: new Float32Array(1024),
    item: new Int32Array(1024),
    depth: new Uint8Array(1024),
    hasHeader: new Uint8Array(1024),
    rests: new Map(),
  };

  add(x: number, y: number, width: number, height: number, item: number, depth: number, hasHeader: boolean): void {
    if (this.out.count === this.capacity) this.grow();
    const { out } = this;
    const i = out.count++;
    out.x[i] = x;
    out.y[i] = y;
    out.width[i] = width;
    out.height[i] = height;
    out.item[i] = item;
    out.depth[i] = depth;
    out.hasHeader[i] = hasHeader ? 1 : 0;
  }

  private grow(): void {
    this.capacity *= 2;
    const longer = <T extends Float32Array | Int32Array | Uint8Array>(old: T): T => {
      const array = new (old.constructor as new (size: number) => T)(this.capacity);
      array.set(old);
      return array;
    };
    const { out } = this;
    out.x = longer(out.x);
    out.y = longer(out.y);
    out.width = longer(out.width);
    out.height = longer(out.height);
    out.item = longer(out.item);
    out.depth = longer(out.depth);
    out.hasHeader = longer(out.hasHeader);
  }
}

/** Lays out what is in GROUP of a tree. */
export function layTreemap(tree: Tree, group: number, width: number, height: number): Rectangles {
  const builder = new Builder();
  const place = (inside: number, x: number, y: number, w: number, h: number, depth: number): void => {
    const items = tree.itemsIn(inside);
    const weights = new Float64Array(items.length);
    for (let i = 0; i < items.length; i++) weights[i] = tree.weightOf(items[i]);
    squarify(weights, tree.weights[inside], x, y, w, h, (i, left, top, across, down) => {
      const item = items[i];
      if (item < 0) {
        builder.add(left, top, across, down, item, depth, false);
        return;
      }
      // A group of which nothing is large enough to be drawn is one cell, like one that is small itself.
      const scale = (across * down) / tree.weights[item];
      const isDivided = tree.heaviest(item) * scale >= 2 * LEAST_AREA && depth < DEEPEST;
      const hasHeader = isDivided && across > 40 && down > 2 * HEADER;
      builder.add(left, top, across, down, item, depth, hasHeader);
      const above = hasHeader ? HEADER : MARGIN;
      if (isDivided && (across - 2 * MARGIN) * (down - above - MARGIN) > LEAST_GROUP && across > 2 * MARGIN + 1)
        place(item, left + MARGIN, top + above, across - 2 * MARGIN, down - above - MARGIN, depth + 1);
    }, (i, left, top, across, down) => {
      // Items without weight are not in the picture at all.
      if (across * down < 0.5 || weights[i] === 0) return;
      builder.out.rests.set(builder.out.count, items.subarray(i));
      builder.add(left, top, across, down, inside, depth, false);
    });
  };
  if (tree.weights[group] > 0 && width > 0 && height > 0) place(group, 0, 0, width, height, 0);
  return builder.out;
}

/** The symbols in the rest of a group. */
export function countRest(tree: Tree, items: Int32Array): number {
  return items.reduce((sum, item) => sum + (item < 0 ? 1 : tree.counts[item]), 0);
}

type Emit = (index: number, x: number, y: number, width: number, height: number) => void;

/**
 * Divides a rectangle by WEIGHTS, which are in descending order and sum up to TOTAL. Where the next one would have
 * less than the least area, REST gets what is left of the rectangle.
 */
export function squarify(
  weights: Float64Array, total: number, x: number, y: number, width: number, height: number,
  emit: Emit, rest?: Emit,
): void {
  const scale = (width * height) / total;
  let first = 0;
  while (first < weights.length && weights[first] * scale >= LEAST_AREA && width > 0 && height > 0) {
    const side = Math.min(width, height);
    let sum = weights[first] * scale;
    let end = first + 1;
    const largest = sum;
    for (let worst = Math.max((side * side) / sum, sum / (side * side)); end < weights.length; end++) {
      const next = weights[end] * scale;
      if (next < LEAST_AREA) break;
      const more = sum + next;
      const worse = Math.max((side * side * largest) / (more * more), (more * more) / (side * side * next));
      if (worse > worst) break;
      worst = worse;
      sum = more;
    }
    const thick = sum / side;
    for (let i = first, at = 0; i < end; i++) {
      const along = (weights[i] * scale) / thick;
      if (width >= height) emit(i, x, y + at, thick, along);
      else emit(i, x + at, y, along, thick);
      at += along;
    }
    if (width >= height) {
      x += thick;
      width -= thick;
    } else {
      y += thick;
      height -= thick;
    }
    first = end;
  }
  if (rest && first < weights.length && width > 0 && height > 0) rest(first, x, y, width, height);
}

/** The rectangle of an item that is nearest in a direction; -1 for none. DX and DY: one is 1 or -1, the other 0. */
export function neighbour(rectangles: Rectangles, from: number, dx: number, dy: number): number {
  const centre = (i: number) => [rectangles.x[i] + rectangles.width[i] / 2, rectangles.y[i] + rectangles.height[i] / 2];
  const [x, y] = centre(from);
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < rectangles.count; i++) {
    if (i === from || rectangles.hasHeader[i]) continue;
    const [otherX, otherY] = centre(i);
    const ahead = (otherX - x) * dx + (otherY - y) * dy;
    const aside = Math.abs((otherX - x) * dy) + Math.abs((otherY - y) * dx);
    if (ahead < 1 || rectangles.width[i] * rectangles.height[i] < 40) continue;
    const distance = ahead + 2 * aside;
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  return best;
}

/** The innermost rectangle at a point; -1 for none. */
export function hit(rectangles: Rectangles, x: number, y: number): number {
  for (let i = rectangles.count - 1; i >= 0; i--)
    if (
      x >= rectangles.x[i] && x < rectangles.x[i] + rectangles.width[i] &&
      y >= rectangles.y[i] && y < rectangles.y[i] + rectangles.height[i]
    )
      return i;
  return -1;
}

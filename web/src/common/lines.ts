// The lines of a tree table: the items of a group, and those of the groups in it that are open.
import { Tree } from "./tree";

export interface Lines {
  count: number;
  item: Int32Array;
  depth: Uint16Array;
  /** The place of the item in its group, from 0, and how many items that has. */
  index: Uint32Array;
  of: Uint32Array;
}

/** ORDER sorts the items of a group; without it, the heaviest is first. */
export function listLines(tree: Tree, group: number, open: ReadonlySet<number>, order?: (items: Int32Array) => Int32Array): Lines {
  const itemsIn = (of: number) => (order ? order(tree.itemsIn(of)) : tree.itemsIn(of));
  // Open groups are walked with a stack: they may be nested to any depth.
  const walk: { items: Int32Array; at: number }[] = [{ items: itemsIn(group), at: 0 }];
  let capacity = walk[0].items.length + 64;
  let lines = room(capacity);
  while (walk.length > 0) {
    const top = walk[walk.length - 1];
    if (top.at === top.items.length) {
      walk.pop();
      continue;
    }
    if (lines.count === capacity) lines = copy(lines, room((capacity *= 2)));
    const item = top.items[top.at];
    lines.item[lines.count] = item;
    lines.depth[lines.count] = walk.length - 1;
    lines.index[lines.count] = top.at++;
    lines.of[lines.count++] = top.items.length;
    if (item >= 0 && open.has(item)) walk.push({ items: itemsIn(item), at: 0 });
  }
  return lines;
}

const FEW = 3;

/** The groups that are open at first, so that there is something to see: the heaviest one where there are only a few. */
export function firstOpen(tree: Tree, group: number): Set<number> {
  const open = new Set<number>();
  for (let items = tree.itemsIn(group); items.length > 0 && items.length <= FEW && items[0] >= 0; items = tree.itemsIn(items[0]))
    open.add(items[0]);
  return open;
}

function room(capacity: number): Lines {
  return {
    count: 0, item: new Int32Array(capacity), depth: new Uint16Array(capacity), index: new Uint32Array(capacity),
    of: new Uint32Array(capacity),
  };
}

function copy(from: Lines, to: Lines): Lines {
  to.count = from.count;
  to.item.set(from.item);
  to.depth.set(from.depth);
  to.index.set(from.index);
  to.of.set(from.of);
  return to;
}

// A tree of calls on flat arrays: node 0 is the root, and a node comes after its parent.
//
// Top-down it is as it was recorded. Bottom-up the functions in which something happened come first, and below each one
// its callers; such nodes are made when somebody looks at them.

export interface Calls {
  parent: Uint32Array;
  frame: Uint32Array;
  /** What happened in the call itself, without the calls below it. */
  self: Float64Array;
  /** The same on the other side of a comparison. */
  before: Float64Array | null;
}

/** A node of a view: what it takes, and what is below it. */
export interface CallView {
  /** The function; -1 for the root. */
  frame(node: number): number;
  total(node: number): number;
  self(node: number): number;
  /** On the other side; 0 if there is none. */
  totalBefore(node: number): number;
  parent(node: number): number;
  /** The heaviest first. */
  children(node: number): number[];
}

export class TopDown implements CallView {
  private readonly totals: Float64Array;
  private readonly totalsBefore: Float64Array | null;
  private readonly start: Uint32Array;
  private readonly list: Uint32Array;
  private readonly sorted = new Map<number, number[]>();

  constructor(private readonly calls: Calls) {
    const { parent, self, before } = calls;
    this.totals = sumUp(parent, self);
    this.totalsBefore = before ? sumUp(parent, before) : null;
    this.start = new Uint32Array(parent.length + 1);
    this.list = new Uint32Array(Math.max(0, parent.length - 1));
    for (let i = 1; i < parent.length; i++) this.start[parent[i] + 1]++;
    for (let i = 0; i < parent.length; i++) this.start[i + 1] += this.start[i];
    const next = this.start.slice();
    for (let i = 1; i < parent.length; i++) this.list[next[parent[i]]++] = i;
  }

  frame = (node: number) => (node === 0 ? -1 : this.calls.frame[node]);
  total = (node: number) => this.totals[node];
  self = (node: number) => this.calls.self[node];
  totalBefore = (node: number) => this.totalsBefore?.[node] ?? 0;
  parent = (node: number) => this.calls.parent[node];

  children(node: number): number[] {
    let children = this.sorted.get(node);
    if (children === undefined) {
      const weight = (child: number) => Math.max(this.totals[child], this.totalBefore(child));
      children = Array.from(this.list.subarray(this.start[node], this.start[node + 1])).filter((child) => weight(child) > 0);
      children.sort((a, b) => weight(b) - weight(a) || a - b);
      this.sorted.set(node, children);
    }
    return children;
  }
}

/** Each node with everything below it. */
export function sumUp(parent: Uint32Array, self: Float64Array): Float64Array {
  const totals = self.slice();
  for (let i = parent.length - 1; i > 0; i--) totals[parent[i]] += totals[i];
  return totals;
}

/** A child with less than this part of its parent cannot be seen, and is left out. */
const LEAST_PART = 5000;

interface Inverted {
  frame: number;
  parent: number;
  total: number;
  before: number;
  /** What has no caller, once it has children. */
  own: number;
  /** Its part of the list of items. */
  from: number;
  to: number;
  children: number[] | null;
}

/**
 * An item is a call in which something happened. All items are in one list; a node has a part of it, and its children have
 * parts of that part, so that no lists are made while a user moves a window.
 */
export class BottomUp implements CallView {
  private readonly nodes: Inverted[] = [];
  private readonly items: Uint32Array;
  private readonly sorted: Uint32Array;
  /** By item: the call whose function is the next, and what the item brings along. */
  private readonly calls: Uint32Array;
  private readonly brings: Float64Array;
  private readonly bringsBefore: Float64Array | null;
  /** By function, its group while items are divided; otherwise -1. */
  private readonly groupOf: Int32Array;
  private readonly parents: Uint32Array;
  private readonly frames: Uint32Array;

  constructor({ parent, frame, self, before }: Calls) {
    this.parents = parent;
    this.frames = frame;
    let last = 0;
    let count = 0;
    for (let i = 1; i < self.length; i++) {
      if (frame[i] > last) last = frame[i];
      if (self[i] > 0 || (before !== null && before[i] > 0)) count++;
    }
    this.groupOf = new Int32Array(last + 1).fill(-1);
    this.items = new Uint32Array(count);
    this.sorted = new Uint32Array(count);
    this.calls = new Uint32Array(count);
    this.brings = new Float64Array(count);
    this.bringsBefore = before ? new Float64Array(count) : null;
    const root: Inverted = { frame: -1, parent: 0, total: 0, before: 0, own: 0, from: 0, to: count, children: null };
    for (let i = 1, item = 0; i < self.length; i++) {
      if (!(self[i] > 0 || (before !== null && before[i] > 0))) continue;
      this.items[item] = item;
      this.calls[item] = i;
      root.total += this.brings[item] = self[i];
      if (this.bringsBefore) root.before += this.bringsBefore[item] = before![i];
      item++;
    }
    this.nodes.push(root);
    root.children = this.divide(0);
  }

  frame = (node: number) => this.nodes[node].frame;
  total = (node: number) => this.nodes[node].total;
  totalBefore = (node: number) => this.nodes[node].before;
  parent = (node: number) => this.nodes[node].parent;

  /** What has no caller. */
  self(node: number): number {
    this.children(node);
    return this.nodes[node].own;
  }

  children(node: number): number[] {
    const item = this.nodes[node];
    if (item.children === null) {
      for (let i = item.from; i < item.to; i++) this.calls[this.items[i]] = this.parents[this.calls[this.items[i]]];
      item.children = this.divide(node);
    }
    return item.children;
  }

  /** Makes a child for each function among the calls of a node. */
  private divide(node: number): number[] {
    const { items, calls, brings, bringsBefore, frames, groupOf } = this;
    const { from, to } = this.nodes[node];
    const groups: Inverted[] = [];
    let own = 0;
    for (let i = from; i < to; i++) {
      const item = items[i];
      if (calls[item] === 0) {
        own += brings[item];
        continue;
      }
      const of = frames[calls[item]];
      if (groupOf[of] < 0) {
        groupOf[of] = groups.length;
        groups.push({ frame: of, parent: node, total: 0, before: 0, own: 0, from: 0, to: 0, children: null });
      }
      const group = groups[groupOf[of]];
      group.to++;
      group.total += brings[item];
      if (bringsBefore) group.before += bringsBefore[item];
    }
    this.nodes[node].own = own;
    const children = this.keep(node, groups);
    for (let i = from; i < to; i++) {
      const group = calls[items[i]] === 0 ? -1 : groupOf[frames[calls[items[i]]]];
      if (group >= 0 && groups[group].to >= 0) this.sorted[groups[group].to++] = items[i];
    }
    if (children.length > 0) items.set(this.sorted.subarray(from, this.nodes[children[children.length - 1]].to), from);
    for (const { frame } of groups) groupOf[frame] = -1;
    const weight = (child: number) => Math.max(this.nodes[child].total, this.nodes[child].before);
    return children.sort((a, b) => weight(b) - weight(a) || a - b);
  }

  /** Makes nodes of the groups that can be seen, with an empty part of the list each; to of the others becomes -1. */
  private keep(node: number, groups: Inverted[]): number[] {
    const least = Math.max(this.nodes[node].total, this.nodes[node].before) / LEAST_PART;
    const children: number[] = [];
    let at = this.nodes[node].from;
    for (const group of groups) {
      const size = group.to;
      group.to = -1;
      if (Math.max(group.total, group.before) <= least) continue;
      group.from = group.to = at;
      at += size;
      children.push(this.nodes.length);
      this.nodes.push(group);
    }
    return children;
  }
}

export interface FrameSum {
  frame: number;
  self: number;
  total: number;
  selfBefore: number;
  totalBefore: number;
}

/** Which calls are below another call of the same function. */
export function findInside(calls: Calls): Uint8Array {
  return Uint8Array.from(calls.parent, (_, node) => (node > 0 && isInside(calls, node) ? 1 : 0));
}

/**
 * Of each function: what happened in it, and in it and below it; calls of itself count once. INSIDE is what findInside
 * returns, for callers that sum often.
 */
export function sumFrames(calls: Calls, frameCount: number, inside: Uint8Array | null = null): FrameSum[] {
  const sums: FrameSum[] = Array.from({ length: frameCount }, (_, frame) => ({ frame, self: 0, total: 0, selfBefore: 0, totalBefore: 0 }));
  const totals = sumUp(calls.parent, calls.self);
  const totalsBefore = calls.before ? sumUp(calls.parent, calls.before) : null;
  for (let i = 1; i < calls.parent.length; i++) {
    const sum = sums[calls.frame[i]];
    sum.self += calls.self[i];
    if (calls.before) sum.selfBefore += calls.before[i];
    if (inside ? inside[i] : isInside(calls, i)) continue;
    sum.total += totals[i];
    if (totalsBefore) sum.totalBefore += totalsBefore[i];
  }
  return sums.filter((sum) => sum.total > 0 || sum.totalBefore > 0);
}

/** Is a call of a function below another call of it? */
function isInside({ parent, frame }: Calls, node: number): boolean {
  for (let above = parent[node]; above !== 0; above = parent[above]) if (frame[above] === frame[node]) return true;
  return false;
}

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

interface Inverted {
  frame: number;
  parent: number;
  total: number;
  before: number;
  /** What has no caller, once it has children. */
  own: number;
  /** The calls whose callers are next, with what each one brings along. */
  calls: Uint32Array;
  brings: Float64Array;
  bringsBefore: Float64Array | null;
  children: number[] | null;
}

/** A child with less than this part of its parent cannot be seen, and is left out. */
const LEAST_PART = 5000;

export class BottomUp implements CallView {
  private readonly nodes: Inverted[] = [];
  /** By function, its group while calls are divided; otherwise -1. */
  private readonly groupOf: Int32Array;

  constructor(private readonly calls: Calls) {
    const { self, before } = calls;
    let last = 0;
    for (let i = 1; i < calls.frame.length; i++) if (calls.frame[i] > last) last = calls.frame[i];
    this.groupOf = new Int32Array(last + 1).fill(-1);
    const own: number[] = [];
    for (let i = 1; i < self.length; i++) if (self[i] > 0 || (before && before[i] > 0)) own.push(i);
    const indices = Uint32Array.from(own);
    this.nodes.push({
      frame: -1,
      parent: 0,
      total: own.reduce((sum, i) => sum + self[i], 0),
      before: before ? own.reduce((sum, i) => sum + before[i], 0) : 0,
      calls: indices,
      brings: Float64Array.from(own, (i) => self[i]),
      bringsBefore: before ? Float64Array.from(own, (i) => before[i]) : null,
      children: null,
      own: 0,
    });
    this.nodes[0].children = this.divide(0);
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
      item.calls = item.calls.map((call) => this.calls.parent[call]);
      item.children = this.divide(node);
    }
    return item.children;
  }

  /** Makes a child for each function among the calls of a node. The lists of all children are parts of one. */
  private divide(node: number): number[] {
    const { calls, brings, bringsBefore } = this.nodes[node];
    const { frame } = this.calls;
    const groups: number[] = [];
    const sizes: number[] = [];
    const totals: number[] = [];
    const totalsBefore: number[] = [];
    for (let i = 0; i < calls.length; i++) {
      if (calls[i] === 0) {
        this.nodes[node].own += brings[i];
        continue;
      }
      const of = frame[calls[i]];
      let group = this.groupOf[of];
      if (group < 0) {
        group = this.groupOf[of] = groups.length;
        groups.push(of);
        sizes.push(0);
        totals.push(0);
        totalsBefore.push(0);
      }
      sizes[group]++;
      totals[group] += brings[i];
      if (bringsBefore) totalsBefore[group] += bringsBefore[i];
    }
    const weight = (child: number) => Math.max(this.nodes[child].total, this.nodes[child].before);
    const least = weight(node) / LEAST_PART;
    const isKept = totals.map((total, group) => Math.max(total, totalsBefore[group]) > least);
    const ends: number[] = [];
    let all = 0;
    for (let group = 0; group < groups.length; group++) ends.push(isKept[group] ? (all += sizes[group]) - sizes[group] : 0);
    const places = { calls: new Uint32Array(all), brings: new Float64Array(all), before: bringsBefore ? new Float64Array(all) : null };
    for (let i = 0; i < calls.length; i++) {
      if (calls[i] === 0) continue;
      const group = this.groupOf[frame[calls[i]]];
      if (!isKept[group]) continue;
      const at = ends[group]++;
      places.calls[at] = calls[i];
      places.brings[at] = brings[i];
      if (places.before) places.before[at] = bringsBefore![i];
    }
    const children: number[] = [];
    groups.forEach((of, group) => {
      this.groupOf[of] = -1;
      if (!isKept[group]) return;
      const [from, to] = [ends[group] - sizes[group], ends[group]];
      this.nodes.push({
        frame: of, parent: node, calls: places.calls.subarray(from, to), brings: places.brings.subarray(from, to),
        bringsBefore: places.before?.subarray(from, to) ?? null, children: null, total: totals[group], before: totalsBefore[group], own: 0,
      });
      children.push(this.nodes.length - 1);
    });
    return children.sort((a, b) => weight(b) - weight(a) || a - b);
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

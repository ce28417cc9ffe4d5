// Trees of functions, made from the tree of stacks: calls of a function at several lines are one node.

export interface FunctionTree {
  parent: Uint32Array;
  /** A function, or from FUNCTIONS on a thread: its place in the list of threads. */
  frame: Uint32Array;
  /** By row: where it is in the tree. */
  rowNode: Uint32Array;
}

interface Stacks {
  parent: Uint32Array;
  frame: Uint32Array;
  frameFunction: Uint32Array;
  functions: number;
  rowNode: Uint32Array;
}

/** Makes nodes by what is above them and what they are. */
class Builder {
  readonly parent = [0];
  readonly frame = [0];
  private readonly numbers = new Map<number, number>();

  constructor(private readonly frames: number) {}

  add(parent: number, frame: number): number {
    const key = parent * this.frames + frame;
    let number = this.numbers.get(key);
    if (number === undefined) {
      number = this.parent.length;
      this.numbers.set(key, number);
      this.parent.push(parent);
      this.frame.push(frame);
    }
    return number;
  }

  finish(rowNode: Uint32Array): FunctionTree {
    return { parent: Uint32Array.from(this.parent), frame: Uint32Array.from(this.frame), rowNode };
  }
}

export function functionTree(stacks: Stacks): FunctionTree {
  const { parent, frame, frameFunction } = stacks;
  const builder = new Builder(stacks.functions);
  const to = new Uint32Array(parent.length);
  for (let i = 1; i < parent.length; i++) to[i] = builder.add(to[parent[i]], frameFunction[frame[i]]);
  return builder.finish(stacks.rowNode.map((node) => to[node]));
}

/** The same with the threads below the root. THREADS has their numbers. */
export function threadTree(tree: FunctionTree, functions: number, rowThread: Uint32Array, threads: number[]): FunctionTree {
  const builder = new Builder(functions + threads.length);
  const place = new Map(threads.map((id, i) => [id, i]));
  const known = threads.map(() => new Map<number, number>());
  const rowNode = tree.rowNode.map((node, row) => {
    const thread = place.get(rowThread[row])!;
    const top = builder.add(0, functions + thread);
    const path: number[] = [];
    let at = node;
    for (; at !== 0 && !known[thread].has(at); at = tree.parent[at]) path.push(at);
    let to = at === 0 ? top : known[thread].get(at)!;
    for (const step of path.reverse()) {
      to = builder.add(to, tree.frame[step]);
      known[thread].set(step, to);
    }
    return to;
  });
  return builder.finish(rowNode);
}

/** The values of rows at the nodes; what is negative is left out. */
export function selfOf(tree: FunctionTree, values: Float64Array): Float64Array {
  const self = new Float64Array(tree.parent.length);
  for (let row = 0; row < values.length; row++) self[tree.rowNode[row]] += values[row];
  for (let i = 0; i < self.length; i++) if (self[i] < 0) self[i] = 0;
  return self;
}

/** By node of the tree of stacks: the frame that allocated, which is the innermost one that is not of a library. */
export function allocatingFrames(parent: Uint32Array, frame: Uint32Array, isLibrary: (frame: number) => boolean): Uint32Array {
  const found = new Uint32Array(parent.length);
  const isOwn = new Uint8Array(parent.length);
  for (let i = 1; i < parent.length; i++) {
    const above = parent[i];
    const own = !isLibrary(frame[i]);
    isOwn[i] = own || isOwn[above] ? 1 : 0;
    found[i] = own || !isOwn[above] ? frame[i] : found[above];
  }
  return found;
}

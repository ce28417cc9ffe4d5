// Figures of windows and trees of functions, compared with a plain count.
import { expect, test } from "vitest";
import { BottomUp, Calls, findInside, sumFrames, TopDown } from "../src/common/calls";
import { escapeXml, flameSvg } from "../src/common/flame_svg";
import { livesOf } from "../src/heap/addresses";
import { byteStep, niceStep } from "../src/common/axes";
import { windowOf } from "../src/heap/state";
import { allocatingFrames, functionTree, selfOf, threadTree } from "../src/heap/trees";
import { Cost, COSTS, Entries, figuresOf, liveOver, peakBin, sumPowers } from "../src/heap/windows";

/** Numbers that look random, the same in every run. */
function random(seed: number): (below: number) => number {
  return (below) => (seed = (seed * 48271) % 2147483647) % below;
}

interface Block {
  row: number;
  bin: number;
  end: number;
  size: number;
}

const ROWS = 6;
const BINS = 20;

/** Blocks that begin and end in the middle of bins; END may be after all bins. */
function makeBlocks(seed: number): Block[] {
  const next = random(seed);
  return Array.from({ length: 200 }, () => {
    const bin = next(BINS);
    return { row: next(ROWS), bin, end: bin + 1 + next(BINS), size: 1 + next(1000) };
  });
}

/** The peak of a bin is when everything in it was allocated, and what ends in it is not freed yet. */
function makeEntries(blocks: Block[]): Entries {
  const rows: number[] = [];
  const first = [0];
  const columns: number[][] = Array.from({ length: 10 }, () => []);
  const peaks: number[] = [];
  for (let bin = 0; bin < BINS; bin++) {
    for (let row = 0; row < ROWS; row++) {
      const here = blocks.filter((block) => block.row === row);
      const begun = here.filter((block) => block.bin === bin);
      const ended = here.filter((block) => block.end === bin);
      if (begun.length + ended.length === 0) continue;
      const sum = (list: Block[]) => list.reduce((all, block) => all + block.size, 0);
      const leaked = begun.filter((block) => block.end >= BINS);
      const values = [sum(begun), begun.length, sum(ended), ended.length, 0, 0, sum(leaked), leaked.length, sum(begun), begun.length];
      rows.push(row);
      values.forEach((value, i) => columns[i].push(value));
    }
    first.push(rows.length);
    peaks.push(blocks.filter((block) => block.bin <= bin && block.end >= bin).reduce((all, block) => all + block.size, 0));
  }
  const [bytes, count, freedBytes, freedCount, temporaryBytes, temporaryCount, leakedBytes, leakedCount, atPeakBytes, atPeakCount] = columns.map((list) => Float64Array.from(list));
  return {
    first: Uint32Array.from(first), row: Uint32Array.from(rows), bytes, count, freedBytes, freedCount, temporaryBytes, temporaryCount, leakedBytes, leakedCount,
    atPeakBytes, atPeakCount, peakBytes: Float64Array.from(peaks), peakTime: new Float64Array(BINS),
  };
}

/** What counts of a block in a window. */
function counts(block: Block, cost: Cost, from: number, to: number, peak: number): number {
  const isBegun = block.bin >= from && block.bin < to;
  const isEnded = block.end >= from && block.end < to;
  if (cost === "allocated") return isBegun ? 1 : 0;
  if (cost === "leaked") return isBegun && block.end >= BINS ? 1 : 0;
  if (cost === "growth") return (isBegun ? 1 : 0) - (isEnded ? 1 : 0);
  return cost === "peak" && block.bin <= peak && block.end >= peak ? 1 : 0;
}

test("figures of windows are those of a plain count", () => {
  for (const [seed, from, to] of [[1, 0, BINS], [2, 3, 9], [3, 19, 20], [4, 0, 1], [5, 7, 8]]) {
    const blocks = makeBlocks(seed);
    const entries = makeEntries(blocks);
    const peak = peakBin(entries, { from, to });
    expect(entries.peakBytes[peak]).toBe(Math.max(...entries.peakBytes.slice(from, to)));
    for (const cost of COSTS) {
      const figures = figuresOf(entries, cost, { from, to }, ROWS, new Uint8Array(ROWS));
      for (let row = 0; row < ROWS; row++) {
        const mine = blocks.filter((block) => block.row === row);
        expect(figures.bytes[row]).toBe(mine.reduce((sum, block) => sum + block.size * counts(block, cost, from, to, peak), 0));
        expect(figures.count[row]).toBe(mine.reduce((sum, block) => sum + counts(block, cost, from, to, peak), 0));
      }
    }
  }
});

test("suppressed leaks are left out, and nothing else of their rows", () => {
  const entries = makeEntries(makeBlocks(1));
  const suppressed = Uint8Array.from({ length: ROWS }, (_, row) => (row === 2 ? 1 : 0));
  expect(figuresOf(entries, "leaked", { from: 0, to: BINS }, ROWS, suppressed).bytes[2]).toBe(0);
  expect(figuresOf(entries, "allocated", { from: 0, to: BINS }, ROWS, suppressed).bytes[2]).toBeGreaterThan(0);
});

test("live bytes of chosen rows over time", () => {
  const blocks = makeBlocks(6);
  const live = liveOver(makeEntries(blocks), Uint8Array.from([0, 1, 0, 0, 1, 0]));
  for (let bin = 0; bin < BINS; bin++)
    expect(live[bin]).toBe(blocks.filter(({ row, bin: begin, end }) => (row === 1 || row === 4) && begin <= bin && end > bin).reduce((sum, block) => sum + block.size, 0));
});

test("sums by power of two", () => {
  expect([...sumPowers(Float64Array.from([1, 2, 3, 4, 5, 6]), 2, { from: 1, to: 3 })]).toEqual([8, 10]);
});

// main calls f at lines 1 and 2; f calls malloc, which is of a library. Rows: both stacks, and main alone on thread 7.
const stacks = {
  parent: Uint32Array.from([0, 0, 1, 1, 2, 3]),
  frame: Uint32Array.from([0, 1, 2, 3, 4, 4]),
  frameFunction: Uint32Array.from([0, 1, 2, 2, 3]),
  functions: 4,
  rowNode: Uint32Array.from([4, 5, 1]),
};

test("calls at several lines are one node", () => {
  const tree = functionTree(stacks);
  expect([...tree.frame]).toEqual([0, 1, 2, 3]);
  expect([...tree.rowNode]).toEqual([3, 3, 1]);
  expect([...selfOf(tree, Float64Array.from([10, 5, -3]))]).toEqual([0, 0, 0, 15]);
});

test("threads are below the root", () => {
  const tree = threadTree(functionTree(stacks), stacks.functions, Uint32Array.from([7, 9, 7]), [7, 9]);
  const view = new TopDown({ ...tree, self: selfOf(tree, Float64Array.from([10, 5, 1])), before: null });
  expect(view.children(0).map((node) => [view.frame(node), view.total(node)])).toEqual([[4, 11], [5, 5]]);
});

test("the frame that allocated is the innermost one of user code", () => {
  expect([...allocatingFrames(stacks.parent, stacks.frame, (frame) => frame === 4)]).toEqual([0, 1, 2, 3, 2, 3]);
  expect([...allocatingFrames(stacks.parent, stacks.frame, () => true)]).toEqual([0, 1, 2, 3, 4, 4]);
});

/** A tree with recursion. */
function makeCalls(seed: number): Calls {
  const next = random(seed);
  const size = 300;
  const parent = Uint32Array.from({ length: size }, (_, i) => (i === 0 ? 0 : next(i)));
  const list = (below: number) => Array.from({ length: size }, (_, i) => (i === 0 ? 0 : next(below)));
  return { parent, frame: Uint32Array.from(list(7)), self: Float64Array.from(list(50)), before: Float64Array.from(list(50)) };
}

test("bottom-up has what each function and its callers take", () => {
  const calls = makeCalls(11);
  const view = new BottomUp(calls);
  const chains = new Map<string, number>();
  let all = 0;
  for (let node = 1; node < calls.parent.length; node++) {
    all += calls.self[node];
    let key = "";
    for (let at = node, depth = 0; at !== 0 && depth < 3; at = calls.parent[at], depth++) {
      key += calls.frame[at] + ";";
      chains.set(key, (chains.get(key) ?? 0) + calls.self[node]);
    }
  }
  expect(view.total(0)).toBe(all);
  let seen = 0;
  const walk = (node: number, key: string, depth: number) => {
    for (const child of view.children(node)) {
      const name = key + view.frame(child) + ";";
      expect(view.total(child)).toBe(chains.get(name));
      seen++;
      if (depth < 2) walk(child, name, depth + 1);
    }
    const below = view.children(node).reduce((sum, child) => sum + view.total(child), 0);
    expect(view.self(node)).toBe(view.total(node) - below);
  };
  walk(0, "", 0);
  expect(seen).toBeGreaterThan(50);
});

test("what is inside a call of the same function counts once", () => {
  const calls = makeCalls(12);
  expect(sumFrames(calls, 7, findInside(calls))).toEqual(sumFrames(calls, 7));
});

test("a window in the address that is not one is the whole trace", () => {
  for (const text of ["", "5", "9-3", "-1-4", "0-21", "a-b", "1.5-3"]) expect(windowOf(text, 20)).toEqual({ from: 0, to: 20 });
  expect(windowOf("3-9", 20)).toEqual({ from: 3, to: 9 });
});

test("steps of axes", () => {
  expect(niceStep(100, 5)).toBe(20);
  expect(niceStep(1, 5)).toBeCloseTo(0.2);
  expect(byteStep(1000, 4)).toBe(256);
  expect(byteStep(0, 4)).toBe(1);
});

test("SVG is well-formed with hostile names", () => {
  expect(escapeXml("<a b=\"c\">&\u0000\ud800")).toBe("&lt;a b=&quot;c&quot;&gt;&amp;\ufffd\ufffd");
  const view = new TopDown(makeCalls(13));
  const svg = flameSvg(view, 0, { title: "<t>", isDiff: false, isInverted: false, name: () => "</svg><script>", color: () => "#fff", describe: () => "]]>" });
  expect(svg).not.toContain("<script>");
  expect(svg.match(/<g>/g)!.length).toBe(svg.match(/<\/g>/g)!.length);
});

test("the lives of an address go from its allocations to its frees, or to the end", () => {
  const alloc = (time: number) => ({ event: "alloc" as const, time, lifetime: 0 });
  const free = (time: number, lifetime: number) => ({ event: "free" as const, time, lifetime });
  expect(livesOf([alloc(5), free(9, 4), { event: "free", time: 10, unmatched: true }, alloc(20)], 50)).toEqual([{ from: 5, to: 9 }, { from: 20, to: 50 }]);
  expect(livesOf([], 50)).toEqual([]);
});

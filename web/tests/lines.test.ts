import { expect, test } from "vitest";
import { firstOpen, listLines } from "../src/common/lines";
import { Tree } from "../src/common/tree";

const tree = new Tree(["a/x", "a/y", "b", "c", "d"], Uint32Array.from([0, 1, 2, 3, 4]), "/", Float64Array.from([10, 20, 5, 4, 3]));
const names = (open: Set<number>) => {
  const lines = listLines(tree, 0, open);
  return Array.from(lines.item.subarray(0, lines.count), (item) => (item >= 0 ? tree.names[item] : `row ${-1 - item}`));
};

test("lines are the items of a group and of the open groups in it", () => {
  expect(names(new Set())).toEqual(["a", "b", "c", "d"]);
  expect(names(new Set([tree.find(["a"])]))).toEqual(["a", "y", "x", "b", "c", "d"]);
  expect(names(new Set([tree.find(["a"]), tree.find(["a", "y"])]))).toEqual(["a", "y", "row 1", "x", "b", "c", "d"]);
});

test("a line has its depth and its place", () => {
  const lines = listLines(tree, 0, new Set([tree.find(["a"])]));
  expect([...lines.depth.subarray(0, 4)]).toEqual([0, 1, 1, 0]);
  expect([lines.index[2], lines.of[2]]).toEqual([1, 2]);
});

test("only where there are few groups, the heaviest is open at first", () => {
  expect(firstOpen(tree, 0).size).toBe(0);
  expect([...firstOpen(tree, tree.find(["a"]))].map((group) => tree.names[group])).toEqual(["y"]);
});

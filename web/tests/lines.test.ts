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

test("another order sorts the items of each group, and stays inside of it", () => {
  const tree = new Tree(["a/x", "a/y", "b"], Uint32Array.of(0, 1, 2), "/", Float64Array.of(5, 9, 20));
  const byValue = (items: Int32Array) => items.slice().sort((one, other) => tree.valueOf(one) - tree.valueOf(other));
  const lines = listLines(tree, 0, new Set([tree.find(["a"])]), byValue);
  expect(Array.from(lines.item.slice(0, lines.count), (item) => tree.valueOf(item))).toEqual([14, 5, 9, 20]);
});

test("the groups below a group are known at once", () => {
  const tree = new Tree(["a/x", "a/y", "b"], Uint32Array.of(0, 1, 2), "/", Float64Array.of(5, 9, 20));
  const below = tree.groupsBelow(tree.find(["a"]));
  expect([["a"], ["a", "x"], ["a", "y"], ["b"], []].map((names) => below[tree.find(names)])).toEqual([1, 1, 1, 0, 0]);
});

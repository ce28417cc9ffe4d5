import { describe, expect, test } from "vitest";
import { Tree } from "../src/common/tree";

const make = (labels: string[], ofRow: number[], values: number[], separator = "/") =>
  new Tree(labels, Uint32Array.from(ofRow), separator, Float64Array.from(values));

describe("Tree", () => {
  test("sums up values in every group", () => {
    const tree = make(["a/b", "a/c", "d"], [0, 1, 1, 2], [1, 2, 4, 8]);
    expect(tree.values[0]).toBe(15);
    expect(tree.counts[0]).toBe(4);
    expect(tree.values[tree.find(["a"])]).toBe(7);
    expect(tree.values[tree.find(["a", "c"])]).toBe(6);
  });

  test("counts negative values as weight", () => {
    const tree = make(["a"], [0, 0], [5, -5]);
    expect(tree.values[0]).toBe(0);
    expect(tree.weights[0]).toBe(10);
  });

  test("a filter changes sums and order, not groups", () => {
    const tree = make(["a", "b"], [0, 1], [10, 1]);
    expect([...tree.groupsIn(0)].map((group) => tree.names[group])).toEqual(["a", "b"]);
    tree.filter(Uint8Array.from([0, 1]));
    expect([...tree.groupsIn(0)].map((group) => tree.names[group])).toEqual(["b"]);
    expect(tree.values[0]).toBe(1);
    tree.filter(null);
    expect(tree.values[0]).toBe(11);
  });

  test("rows come with the largest first", () => {
    const tree = make(["a"], [0, 0, 0], [1, 3, 2]);
    expect([...tree.rowsIn(tree.find(["a"]))]).toEqual([1, 2, 0]);
  });
});

describe("chains of groups", () => {
  test("a group with nothing but one group is one with it", () => {
    const tree = make(["/usr/app/src", "/usr/app/lib"], [0, 1], [1, 2]);
    expect([...tree.groupsIn(0)].map((group) => tree.names[group])).toEqual(["/usr/app"]);
    expect([...tree.groupsIn(1)].map((group) => tree.names[group])).toEqual(["lib", "src"]);
    expect(tree.values[1]).toBe(3);
  });

  test("a group with rows of its own stays", () => {
    const tree = make(["a", "a/b"], [0, 1], [1, 2]);
    expect([...tree.groupsIn(0)].map((group) => tree.names[group])).toEqual(["a"]);
    expect(tree.groupCount).toBe(3);
  });

  test("rows of all depths are visited", () => {
    const tree = make(["a/b", "a/c", "d"], [0, 1, 2], [1, 2, 3]);
    const rows: number[] = [];
    tree.eachRow(tree.find(["a"]), (row) => rows.push(row));
    expect(rows.sort()).toEqual([0, 1]);
  });

  test("labels with many parts do no harm", () => {
    const tree = make([Array(2000).fill("x").join("/"), Array(100_000).fill("y").join("/")], [0, 1], [1, 2]);
    expect(tree.groupCount).toBe(3);
  });
});

import { describe, expect, test } from "vitest";
import { Tree } from "../src/common/tree";
import { hit, layTreemap, squarify } from "../src/common/treemap";

describe("squarify", () => {
  test("areas are proportional to weights and fill the rectangle", () => {
    const weights = Float64Array.from([6, 6, 4, 3, 2, 2, 1]);
    const areas: number[] = [];
    squarify(weights, 24, 0, 0, 600, 400, (i, _x, _y, width, height) => (areas[i] = width * height));
    areas.forEach((area, i) => expect(area).toBeCloseTo(weights[i] * 10_000, 3));
  });

  test("rectangles do not overlap and stay inside", () => {
    const weights = Float64Array.from({ length: 50 }, (_, i) => 50 - i);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const placed: number[][] = [];
    squarify(weights, total, 10, 20, 300, 100, (_, x, y, width, height) => {
      expect(x).toBeGreaterThanOrEqual(10 - 1e-6);
      expect(y).toBeGreaterThanOrEqual(20 - 1e-6);
      expect(x + width).toBeLessThanOrEqual(310 + 1e-6);
      expect(y + height).toBeLessThanOrEqual(120 + 1e-6);
      for (const [ox, oy, ow, oh] of placed)
        expect(x + width <= ox + 1e-6 || ox + ow <= x + 1e-6 || y + height <= oy + 1e-6 || oy + oh <= y + 1e-6).toBe(true);
      placed.push([x, y, width, height]);
    });
    expect(placed.length).toBe(50);
  });
});

describe("layTreemap", () => {
  test("a point is found in the innermost rectangle", () => {
    const tree = new Tree(["a/b", "c"], Uint32Array.from([0, 1]), "/", Float64Array.from([75, 25]));
    const rectangles = layTreemap(tree, 0, 400, 300);
    const item = rectangles.item[hit(rectangles, 100, 150)];
    expect(item).toBe(-1);
    expect(hit(rectangles, 1000, 1000)).toBe(-1);
  });

  test("an empty tree has no rectangles", () => {
    const tree = new Tree([], new Uint32Array(0), "/", new Float64Array(0));
    expect(layTreemap(tree, 0, 400, 300).count).toBe(0);
  });
});

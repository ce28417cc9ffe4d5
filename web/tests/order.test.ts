import { expect, test } from "vitest";
import { orderBySize } from "../src/common/order";

test("the largest comes first, whatever its sign", () => {
  expect([...orderBySize(Float64Array.from([1, -5, 3, 0]))]).toEqual([1, 2, 0, 3]);
});

test("equal values keep their order", () => {
  expect([...orderBySize(Float64Array.from([2, 7, 2, 7]))]).toEqual([1, 3, 0, 2]);
});

test("values that a float cannot tell apart are in order, too", () => {
  const large = 2 ** 40;
  expect([...orderBySize(Float64Array.from([large, large + 2, large + 1, 1e15, 0.3]))]).toEqual([3, 1, 2, 0, 4]);
});

test("is the order of a comparison sort", () => {
  const values = Float64Array.from({ length: 5000 }, (_, i) => ((i * 7919) % 1013) / ((i % 5) + 1) - 300);
  const rows = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
  expect([...orderBySize(values)]).toEqual(rows);
});

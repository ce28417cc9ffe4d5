import { expect, test } from "vitest";
import { compareTexts, isSortedBy, sortDirection, sortNext } from "../src/common/sort";

test("a click sorts by a column, and a second one the other way", () => {
  expect(sortNext("", "size")).toBe("size");
  expect(sortNext("size", "size")).toBe("-size");
  expect(sortNext("-size", "size")).toBe("size");
  expect(sortNext("-size", "name")).toBe("name");
});

test("numbers go down first, texts go up first", () => {
  expect(sortDirection("size", "size", false)).toBe("descending");
  expect(sortDirection("-size", "size", false)).toBe("ascending");
  expect(sortDirection("name", "name", true)).toBe("ascending");
  expect(sortDirection("-name", "name", true)).toBe("descending");
  expect(sortDirection("name", "size", false)).toBe("none");
  expect(isSortedBy("-name", "name")).toBe(true);
});

test("texts are compared by their characters", () => {
  expect(["b", "a", "a1", ""].sort(compareTexts)).toEqual(["", "a", "a1", "b"]);
});

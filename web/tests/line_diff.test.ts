import { expect, test } from "vitest";
import { compareLines, parseUnified } from "../src/size/line_diff";

test("lines that differ are beside each other", () => {
  expect(compareLines("a\nb\nc\n", "a\nx\nc\n")).toEqual([
    { before: "a", after: "a", kind: "same" }, { before: "b", after: "x", kind: "changed" }, { before: "c", after: "c", kind: "same" },
  ]);
});

test("lines that were added or removed have nothing on the other side", () => {
  expect(compareLines("", "a\n")).toEqual([{ before: undefined, after: "a", kind: "changed" }]);
  expect(compareLines("a\nb\n", "b\n")[0]).toEqual({ before: "a", after: undefined, kind: "changed" });
  expect(compareLines("same\n", "same\n")).toEqual([{ before: "same", after: "same", kind: "same" }]);
});

test("a unified diff is taken apart", () => {
  expect(parseUnified("--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n+d\n")).toEqual([
    { before: "@@ -1,2 +1,2 @@", after: "@@ -1,2 +1,2 @@", kind: "gap" }, { before: "a", after: "a", kind: "same" },
    { before: "b", after: "c", kind: "changed" }, { before: undefined, after: "d", kind: "changed" },
  ]);
  expect(parseUnified("push rbp\n- not a diff\n")).toBeNull();
});

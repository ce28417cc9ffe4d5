import { expect, test } from "vitest";
import { namespaceOf, stripName } from "../src/size/names";

test("a short name has no parameters and no template arguments", () => {
  expect(stripName("main")).toBe("main");
  expect(stripName("a::b(int)")).toBe("a::b");
  expect(stripName("a::T<int, b::U<c>>::f(d<e>)")).toBe("a::T<>::f");
  expect(stripName("open<")).toBe("open<");
});

test("a namespace is what is before the last part", () => {
  expect(namespaceOf("a::b::c")).toBe("a::b");
  expect(namespaceOf("main")).toBe("");
});

import { expect, test } from "vitest";
import { namespaceOf, stripName } from "../src/size/names";

// The same cases as in tests/unit/report/test_size_names.c.
const CASES: [stored: string, shortName: string, namespace: string][] = [
  ["main", "main", ""],
  ["a::b(int)", "a::b", "a"],
  ["a::T<int, b::U<c>>::f(d<e>)", "a::T<>::f", "a::T<>"],
  ["a::f(int) const", "a::f const", "a"],
  ["open<", "open<", ""],
  ["", "", ""],
  ["void a::f<int>(int)", "a::f<>", "a"],
  ["a::g[abi:cxx11](int)", "a::g", "a"],
  ["(anonymous namespace)::helper()", "helper", ""],
  ["a::(anonymous namespace)::helper(int)", "a::helper", "a"],
  ["vtable for a::B", "a::B [vtable]", "a"],
  ["guard variable for a::b()::c", "a::b::c [guard variable]", "a::b"],
  ["a::operator<<(b&, int)", "a::operator<<", "a"],
  ["a::B::operator()(int) const", "a::B::operator() const", "a::B"],
  ["a::operator<(b)", "a::operator<", "a"],
  ["a::operator<=>(b)", "a::operator<=>", "a"],
];

for (const [stored, shortName, namespace] of CASES)
  test(`names of "${stored}"`, () => {
    expect(stripName(stored)).toBe(shortName);
    expect(namespaceOf(stripName(stored))).toBe(namespace);
  });

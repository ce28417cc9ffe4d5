import { describe, expect, it } from "vitest";
import { Info, Rows } from "../src/symbols/model";
import { patternProblem } from "../src/symbols/pattern";
import { firstVisible, fullHeight, LINE, scrollFor, visibleLines } from "../src/symbols/places";
import { batches, MOST_QUESTIONS, splitQuestions } from "../src/symbols/questions";
import { BLOCK, RowCache } from "../src/symbols/row_cache";
import { DEFAULTS, stateOf, tableQuery } from "../src/symbols/state";
import { baseName, counts, endOf, formatName, highlights, isSameAddress, lineText, offsetText, quality, recordText } from "../src/symbols/words";

describe("places of lines", () => {
  it("are a line apart in a short table", () => {
    expect(fullHeight(1000)).toBe(1000 * LINE);
    expect(firstVisible(10 * LINE, 400, 1000)).toBe(10);
    expect(scrollFor(10, 400, 1000)).toBe(10 * LINE);
    const { first, last, y } = visibleLines(100 * LINE, 10 * LINE, 1000);
    expect([first, last, y]).toEqual([92, 118, 92 * LINE]);
    expect(visibleLines(0, 400, 0)).toEqual({ first: 0, last: 0, y: 0 });
  });

  it("reach the last line of ten millions", () => {
    const count = 10_000_000;
    const height = 480;
    const bottom = fullHeight(count) - height;
    expect(fullHeight(count)).toBeLessThan(20_000_000);
    expect(firstVisible(0, height, count)).toBe(0);
    expect(firstVisible(bottom, height, count)).toBeCloseTo(count - height / LINE, 3);
    for (const line of [0, 1, 4_999_999, count - 20]) expect(firstVisible(scrollFor(line, height, count), height, count)).toBeCloseTo(line, 3);
    const { first, last, y } = visibleLines(bottom, height, count);
    expect(last).toBe(count);
    expect(y + (last - first) * LINE).toBeCloseTo(bottom + height, 0);
  });
});

describe("rows", () => {
  const rows = (from: number, count: number): Rows => ({
    total: 1000, found: 900, from,
    rows: Array.from({ length: Math.max(0, Math.min(count, 900 - from)) }, (_, i) => ({ index: from + i, address: "0x0", size: 1, name: "n" })),
  });

  it("are fetched once, in blocks", async () => {
    const asked: number[] = [];
    let changes = 0;
    const cache = new RowCache(async (from, count) => { asked.push(from); return rows(from, count); }, () => changes++, () => undefined);
    expect([cache.isFilled, cache.row(0)]).toEqual([false, undefined]);
    await Promise.all([cache.want(BLOCK - 5, BLOCK + 5), cache.want(0, 10)]);
    expect(asked.sort((a, b) => a - b)).toEqual([0, BLOCK]);
    expect([cache.row(3)?.index, cache.row(BLOCK + 1)?.index, cache.found, cache.total, changes]).toEqual([3, BLOCK + 1, 900, 1000, 2]);
  });

  it("that cannot be fetched are an error, and can be asked for again", async () => {
    let isBroken = true;
    const errors: string[] = [];
    const cache = new RowCache(
      async (from, count) => { if (isBroken) throw new Error("bad regular expression"); return rows(from, count); },
      () => undefined, (error) => errors.push(error.message),
    );
    await cache.want(0, 1);
    expect(errors).toEqual(["bad regular expression"]);
    isBroken = false;
    await cache.want(0, 1);
    expect(cache.row(0)?.index).toBe(0);
  });

  it("that are far away are forgotten", async () => {
    const cache = new RowCache(async (from) => ({ total: 1e9, found: 1e9, from, rows: [{ index: from, address: "0x0", size: 0, name: "" }] }), () => undefined, () => undefined);
    for (let i = 0; i < 300; i++) await cache.want(i * BLOCK, i * BLOCK + 1);
    expect([cache.row(0), cache.row(299 * BLOCK)?.index]).toEqual([undefined, 299 * BLOCK]);
  });
});

describe("questions", () => {
  it("are the words of lines that have addresses only", () => {
    expect(splitQuestions("401136 0x401140,+0x10\n\n  deadbeef;\r\n")).toEqual(["401136", "0x401140", "+0x10", "deadbeef"]);
  });
  it("are whole lines otherwise", () => {
    expect(splitQuestions("f(int, int)+0x3\nmain+1")).toEqual(["f(int, int)+0x3", "main+1"]);
  });
  it("are taken out of backtraces", () => {
    expect(splitQuestions("./app(main+0x12) [0x55d0c0de1136]\n./app(+0x1136)[0x55d0]\n#3  0x0000401136 in main () at a.c:3")).toEqual(["main+0x12", "+0x1136", "0x0000401136"]);
  });
  it("are bounded", () => {
    expect(splitQuestions("1 ".repeat(5000)).length).toBe(MOST_QUESTIONS);
    expect(splitQuestions("x".repeat(100_000))[0].length).toBe(4000);
    const parts = batches(Array.from({ length: 120 }, (_, i) => String(i)));
    expect(parts.map((part) => part.length)).toEqual([50, 50, 20]);
    expect(batches(["x".repeat(4000), "y".repeat(4000), "z"]).map((part) => part.length)).toEqual([1, 2]);
    expect(batches([])).toEqual([]);
  });
});

describe("regular expressions", () => {
  it("that the server refuses are refused here", () => {
    for (const [pattern, problem] of [
      ["(", "'(' is not closed"], [")", "')' is not opened"], [")(", "')' is not opened"], ["a[b", "'[' is not closed"], ["a{2", "'{' is followed"], ["a{x}", "'{' is followed"],
      ["\\d", "\\d is written [0-9]"], ["\\D", "[^0-9]"], ["(a)\\1", "not supported"], ["(?:a)", "(?...)"], ["a\\", "a backslash at the end"], ["\\q", "\\q has no meaning"],
    ])
      expect(patternProblem(pattern), pattern).toContain(problem);
  });
  it("that it takes are taken", () => {
    for (const pattern of ["", "a.b", "^<(a|b)+$", "[]a]", "[^]]", "[[:alpha:]_]+", "a{2,5}", "a{2}", "a{,3}", "\\{", "\\(", "\\bnew\\b", "[(]", "[{]x", "[\\]", "operator\\(\\)"])
      expect(patternProblem(pattern), pattern).toBe("");
  });
});

describe("the state", () => {
  it("ignores what nobody could have chosen", () => {
    expect(stateOf({ sort: "__proto__", tab: "x", part: "y", function: "-1", regex: "2" })).toEqual(DEFAULTS);
    expect(stateOf({ sort: "size", descending: "1", function: "12", search: "a" })).toEqual({ ...DEFAULTS, sort: "size", descending: "1", function: "12", search: "a" });
  });
  it("becomes a query", () => {
    expect(tableQuery({ ...DEFAULTS, regex: "1" })).toEqual({ sort: "address" });
    expect(tableQuery({ ...DEFAULTS, search: "f", regex: "1", case: "1", descending: "1" })).toEqual({ sort: "address", search: "f", regex: "1", case: "1", descending: "1" });
  });
});

describe("words", () => {
  const info: Info = {
    file: "/a", format: "elf", version: null, build_id: null, file_id: null, arch: null, sources: ["dwarf", "symtab"], symbols: 5, functions: 1, inlines: 2,
    lines: 1, size: 9, units: 7, damaged_units: 1, missing_units: 2,
  };
  it("say how good a file is", () => {
    expect(quality(info)).toBe("function names, lines and inlined calls from DWARF, .symtab; 1 damaged unit of 7; 2 units without the split file that has it");
    expect(quality({ ...info, sources: [], lines: 0, inlines: 0, damaged_units: 0, missing_units: 0 })).toBe("function names; no lines or inlined calls");
    expect(quality({ ...info, functions: 0, symbols: 0 })).toBe("no functions");
    expect(counts(info)).toEqual(["1 function", "5 symbols", "2 inlined calls", "1 line entry"]);
    expect(formatName({ ...info, format: "lidia", version: 1 })).toBe("Lidia archive version 1");
  });
  it("describe records as lookup --explain does", () => {
    const frame = { function: "f", record: "function", file: "/a", section: ".debug_info", unit: "a.c", unit_offset: "0x0", entry: "0x5e", index: null, start: "0x1", end: "0x2", name_from: null, aliases: [] };
    expect(recordText(frame, false)).toBe("function at 0x5e of .debug_info, unit 'a.c' at 0x0, 0x1-0x2");
    expect(recordText({ ...frame, record: "row", index: 3, section: "rows", unit: null, start: null }, true)).toBe("row 3 at 0x5e of the file");
    const line = { file: "/a", section: ".debug_line", table: "0x0", address: "0x1", source: "/a.c", line: 2, column: 7 };
    expect(lineText(line, false)).toBe("/a.c:2:7, row 0x1 of the table at 0x0 of .debug_line");
    expect(lineText({ ...line, address: null, column: null }, false)).toBe("/a.c:2, by the table at 0x0 of .debug_line");
    expect(lineText({ ...line, column: null, source: null }, true)).toBe("(no file):2, from 0x1 on, by the line entry at 0x0 of the file");
    expect([isSameAddress("0X00f", "0xf"), isSameAddress("0", "0x0"), isSameAddress("f+1", "0xf"), isSameAddress("e", "0xf")]).toEqual([true, true, false, false]);
  });
  it("count with 64 bits", () => {
    expect(endOf("0xffffffffffffff00", 256)).toBe("0x0");
    expect(endOf("0xffffffff81000000", 104)).toBe("0xffffffff81000068");
    expect(offsetText("0xffffffff81000068", "0xffffffff81000000")).toBe("+0x68");
    expect(offsetText("0x1", "0x3")).toBe("-0x2");
    expect([baseName("/a/b.c"), baseName("b.c"), baseName("a/")]).toEqual(["b.c", "b.c", ""]);
  });
  it("mark what was found", () => {
    expect(highlights("aXbxc", "x", false)).toEqual(["a", "X", "b", "x", "c"]);
    expect(highlights("aXbxc", "x", true)).toEqual(["aXb", "x", "c"]);
    expect(highlights("İX", "x", false)).toEqual(["İ", "X", ""]);
    expect(highlights("abc", "", false)).toEqual(["abc"]);
    expect(highlights("x".repeat(1000), "x", false).length).toBeLessThan(300);
  });
});

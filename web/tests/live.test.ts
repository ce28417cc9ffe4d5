import { expect, test } from "vitest";
import { mainFrame, place, Site, spread } from "../src/live/model";

test("columns have the highest value of their time, and keep it", () => {
  expect([...spread([0, 10, 50], [5, 20, 1], 100, 10)]).toEqual([5, 20, 20, 20, 20, 20, 1, 1, 1, 1]);
  expect([...spread([], [], 100, 3)]).toEqual([0, 0, 0]);
  expect([...spread([0, 1, 2], [1, 9, 3], 2, 1)]).toEqual([9]);
  expect([...spread([0, 200], [1, 7], 100, 2)]).toEqual([1, 7]);
});

const frame = (name: string, library: boolean) => ({ file: "/a/b.c", line: 3, function: name, library });
const site = (frames: Site["frames"]): Site => ({ stack: 1, live_bytes: 1, live_blocks: 1, allocations: 1, allocated_bytes: 1, frames });

test("a site is named after the first frame that is the program's own", () => {
  expect(mainFrame(site([frame("push_back", true), frame("load", false)]))!.function).toBe("load");
  expect(mainFrame(site([frame("calloc", true)]))!.function).toBe("calloc");
  expect(mainFrame(site([]))).toBe(null);
  expect(place(frame("x", false))).toBe("b.c:3");
  expect(place({ file: null, line: 0, function: null, library: false })).toBe("");
});

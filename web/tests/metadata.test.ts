import { expect, test } from "vitest";
import { metricParts, settingParts } from "../src/size/metadata";
import type { Header, Side } from "../src/size/model";

const side = (header: Header): Side => ({ file_bytes: 0, memory_bytes: 0, sections: [], header });

test("metrics of both sides are beside each other", () => {
  const before = side({ metrics_by_file: { lib: { "SIZE/.text": 1, gone: 2 } } });
  const after = side({ metrics_by_file: { lib: { "SIZE/.text": 3 } } });
  expect(metricParts(before, after)).toEqual([
    { title: "lib", entries: [{ name: "SIZE/.text", before: 1, after: 3 }, { name: "gone", before: 2, after: undefined }] },
  ]);
});

test("members of lists are settings of their own", () => {
  const parts = settingParts(undefined, side({ build_config: { gn_args: ["a=1", "b"], title: "x" }, containers: [{ name: "one", metadata: { n: 1 } }] }));
  expect(parts[0].entries.map(({ name, after }) => [name, after])).toEqual([["gn_args › a", "1"], ["gn_args › b", "yes"], ["title", "x"]]);
  expect(parts[1]).toEqual({ title: "one", entries: [{ name: "n", before: undefined, after: "1" }] });
});

test("names of a file are not those of an object", () => {
  const parts = metricParts(side({ metrics_by_file: {} }), side({ metrics_by_file: { f: JSON.parse('{"__proto__": 1, "constructor": 2}') } }));
  expect(parts[0].entries.map(({ name, after }) => [name, after])).toEqual([["__proto__", 1], ["constructor", 2]]);
});

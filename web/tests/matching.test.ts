import { expect, test } from "vitest";
import { matchLines } from "../src/size/groups";

const names = ["alpha", "beta(int)", "", "gamma beta", "delta"];
const text = names.map((name) => name + "\n").join("");
const starts = new Uint32Array(names.length + 1);
names.forEach((name, i) => (starts[i + 1] = starts[i] + name.length + 1));

function matched(pattern: RegExp): string[] {
  const found = new Uint8Array(names.length);
  matchLines(text, starts, pattern, found);
  return names.filter((_, i) => found[i]);
}

test("finds the lines that match, each alone", () => {
  for (const pattern of [/beta/i, /^a/i, /a$/i, /BETA\(/i, /./i, /x*/i, /[^a]$/i, /a\s*b/i, /delta|alpha/i, /\)$/i, /^$/i, /t[^z]*/i])
    expect(matched(pattern), String(pattern)).toEqual(names.filter((name) => pattern.test(name)));
});

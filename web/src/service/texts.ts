// How the page says what the API says.
import { Answer, Binary, Named, Quality } from "./api";

/** What a binary has, as short words; those that make answers better come first. */
export const QUALITIES: { key: keyof Quality; word: string; about: string }[] = [
  { key: "dwarf", word: "DWARF", about: "debug information was read" },
  { key: "symtab", word: "symbols", about: "it has a symbol table" },
  { key: "lines", word: "lines", about: "source files and line numbers" },
  { key: "inlines", word: "inlines", about: "inlined functions" },
  { key: "go", word: "Go", about: "a Go binary, with the table of functions of its runtime" },
  { key: "returnpads", word: "return pads", about: "answers for the addresses that calls return to" },
  { key: "executable", word: "executable", about: "the executable is here" },
  { key: "debuginfo", word: "debug file", about: "the debug file is here" },
];

const SOURCES: Record<string, string> = {
  ranges: "ranges that a client pushed",
  pads: "return pads that a client pushed",
  elf: "the executable",
  debug: "the debug file",
  upstream: "a file of an upstream server",
};

/** Whose symbols answer. */
export function answeredBy(binary: Binary): string {
  if (binary.source === null) return "nothing: there is no complete upload yet";
  return SOURCES[binary.source] ?? binary.source;
}

/** How good the answers are, in one word. */
export function grade(binary: Binary): { word: string; level: "good" | "fair" | "poor" | "none" } {
  if (binary.source === null) return { word: "no answers", level: "none" };
  if (binary.quality.lines && binary.quality.inlines) return { word: "lines and inlines", level: "good" };
  if (binary.quality.lines) return { word: "lines", level: "good" };
  if (binary.functions > 0) return { word: "functions", level: "fair" };
  return { word: "few names", level: "poor" };
}

/** What is here besides. */
export function extras(binary: Binary): string[] {
  const keys: (keyof Quality)[] = ["returnpads", "go", "debuginfo", "executable"];
  return QUALITIES.filter(({ key }) => keys.includes(key) && binary.quality[key]).map(({ word }) => word);
}

/** "2026-11-16 11:05" in the zone of whoever looks. */
export function moment(text: string | null): string {
  if (text === null) return "";
  const date = new Date(text);
  const two = (value: number) => String(value).padStart(2, "0");
  if (Number.isNaN(date.getTime())) return text;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function place(frame: { file: string | null; line: number | null }): string {
  if (frame.file === null) return "";
  return frame.line === null ? frame.file : `${frame.file}:${frame.line}`;
}

export const KINDS = { size: "sizes", sizediff: "diff of sizes", mlyze: "heap trace" } as const;

function answerText(answer: Answer): string {
  return answer.frames
    .map((frame) => `    ${frame.function ?? "??"}${frame.file === null ? "" : " " + place(frame)}${frame.inlined ? " [inlined]" : ""}`)
    .join("\n");
}

/** The text with its answers, for the clipboard. */
export function asText(named: Named): string {
  const lines: string[] = [];
  for (const line of named.lines) {
    lines.push(line.text);
    for (const answer of line.answers) lines.push(answer.frames.length > 0 ? answerText(answer) : `    ${answer.address} ??`);
  }
  return lines.join("\n") + "\n";
}

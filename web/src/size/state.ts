// What the user chose, and its form in the address of the page.
import { ByteUnit } from "../common/format";
import { readState, writeState } from "../common/url_state";
import { GROUPINGS, Grouping } from "./groups";
import { PageInfo } from "./model";
import { ColorKey } from "./rows";

export const VIEWS = { sizes: "Sizes", metrics: "Metrics", build: "Build" } as const;
export type View = keyof typeof VIEWS;

export interface State {
  view: View;
  group_by: Grouping;
  color: ColorKey;
  byteunit: ByteUnit;
  method_count: boolean;
  include: string;
  exclude: string;
  min_size: number;
  /** Sections that are left out. */
  hide: string[];
  flags: string[];
  status: string[];
  search: string;
  /** Of the table: see common/sort.tsx. */
  sort: string;
  /** The names of the groups from the root to the one that is shown. */
  focus: string[];
  /** The row that is chosen, or -1. */
  row: number;
}

export function defaults(info: PageInfo): State {
  return {
    view: "sizes", group_by: info.has_paths ? "path" : "section", color: info.kind === "sizediff" ? "growth" : "section", byteunit: "auto", method_count: false,
    include: "", exclude: "", min_size: 0, hide: [], flags: [], status: [], search: "", sort: "", focus: [], row: -1,
  };
}

const LISTS = ["hide", "flags", "status", "focus"] as const;
const TEXTS = ["include", "exclude", "search", "sort"] as const;

/** The state in the address. What it does not have, or what does not fit the file, is as usual. */
export function loadState(info: PageInfo): State {
  const values = readState();
  const state = defaults(info);
  if (values.view in VIEWS) state.view = values.view as View;
  if (values.group_by in GROUPINGS && (values.group_by !== "inlined" || info.inlined)) state.group_by = values.group_by as Grouping;
  if (["section", "component", "growth"].includes(values.color)) state.color = values.color as ColorKey;
  if (["B", "KiB", "MiB", "GiB"].includes(values.byteunit)) state.byteunit = values.byteunit as ByteUnit;
  state.method_count = values.method_count === "1" || values.method_count === "true";
  for (const key of TEXTS) state[key] = values[key] ?? "";
  state.min_size = Math.max(0, Number(values.min_size) || 0);
  for (const key of LISTS) state[key] = values[key] ? values[key].split("\x1f") : [];
  const row = Number(values.row ?? -1);
  if (Number.isInteger(row) && row >= 0 && row < info.rows) state.row = row;
  return state;
}

export function saveState(state: State, info: PageInfo, isStep: boolean): void {
  const text = (value: State): Record<string, string> => ({
    ...Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one)])),
    method_count: value.method_count ? "1" : "",
    ...Object.fromEntries(LISTS.map((key) => [key, value[key].join("\x1f")])),
  });
  writeState(text(state), text(defaults(info)), isStep);
}

/** A regular expression that the user writes: null for none, or a message why it is not one. */
export function parsePattern(text: string): { pattern: RegExp | null; problem: string } {
  if (text === "") return { pattern: null, problem: "" };
  try {
    return { pattern: new RegExp(text, "i"), problem: "" };
  } catch (error) {
    return { pattern: null, problem: String((error as Error).message).replace(/^Invalid regular expression: /, "") };
  }
}

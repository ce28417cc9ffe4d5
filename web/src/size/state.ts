// What the user chose, and its form in the address of the page.
import { ByteUnit } from "../common/format";
import { readState, writeState } from "../common/url_state";
import { GROUPINGS, Grouping } from "./groups";

export interface State {
  group_by: Grouping;
  color: "section" | "component" | "growth";
  byteunit: ByteUnit;
  include: string;
  exclude: string;
  min_size: number;
  /** Sections that are left out. */
  hide: string[];
  flags: string[];
  status: string[];
  search: string;
  /** The names of the groups from the root to the one that is shown. */
  focus: string[];
}

export const DEFAULTS: State = {
  group_by: "path", color: "section", byteunit: "auto", include: "", exclude: "", min_size: 0, hide: [], flags: [], status: [],
  search: "", focus: [],
};

const LISTS = ["hide", "flags", "status", "focus"] as const;

export function loadState(isDiff: boolean): State {
  const values = readState();
  const state: State = { ...DEFAULTS, color: isDiff ? "growth" : "section" };
  if (values.group_by && values.group_by in GROUPINGS) state.group_by = values.group_by as Grouping;
  if (["section", "component", "growth"].includes(values.color)) state.color = values.color as State["color"];
  if (["B", "KiB", "MiB", "GiB"].includes(values.byteunit)) state.byteunit = values.byteunit as ByteUnit;
  state.include = values.include ?? "";
  state.exclude = values.exclude ?? "";
  state.search = values.search ?? "";
  state.min_size = Math.max(0, Number(values.min_size) || 0);
  for (const key of LISTS) state[key] = values[key] ? values[key].split("\x1f") : [];
  return state;
}

export function saveState(state: State): void {
  const text = (value: State) => ({
    ...value, min_size: String(value.min_size), ...Object.fromEntries(LISTS.map((key) => [key, value[key].join("\x1f")])),
  });
  writeState(text(state) as unknown as Record<string, string>, text(DEFAULTS) as unknown as Record<string, string>);
}

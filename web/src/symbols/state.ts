// What was chosen, as it is in the fragment of the address.

export interface State {
  search: string;
  regex: string;
  case: string;
  sort: "address" | "name" | "size";
  descending: string;
  /** The number of the function that is shown; "" for none. */
  function: string;
  part: string;
  tab: string;
  /** Addresses that are looked up, divided by newlines. */
  at: string;
}

export const DEFAULTS: State = {
  search: "", regex: "", case: "", sort: "address", descending: "", function: "", part: "lines", tab: "function", at: "",
};

const SORTS = ["address", "name", "size"];
const TABS = ["function", "addresses"];
const PARTS = ["lines", "inlines", "ranges", "pads"];

/** The state of an address that may have been written by anybody. */
export function stateOf(values: Record<string, string>): State {
  const state = { ...DEFAULTS, ...values } as State;
  if (!SORTS.includes(state.sort)) state.sort = DEFAULTS.sort;
  if (!TABS.includes(state.tab)) state.tab = DEFAULTS.tab;
  if (!PARTS.includes(state.part)) state.part = DEFAULTS.part;
  if (!/^\d{1,10}$/.test(state.function)) state.function = "";
  for (const flag of ["regex", "case", "descending"] as const) if (state[flag] !== "1") state[flag] = "";
  return state;
}

/** The parameters of the table that the server is asked for. */
export function tableQuery(state: State): Record<string, string> {
  const query: Record<string, string> = { sort: state.sort };
  if (state.descending) query.descending = "1";
  if (state.search === "") return query;
  query.search = state.search;
  if (state.regex) query.regex = "1";
  if (state.case) query.case = "1";
  return query;
}

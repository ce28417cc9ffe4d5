// The state of a page in the fragment of its address, so that it can be linked to: #group_by=path&include=foo

export type Values = Record<string, string>;

export function readState(): Values {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Replaces the state. Values that are empty, or what DEFAULTS says, are left out. */
export function writeState(values: Values, defaults: Values): void {
  const kept = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== "" && value !== defaults[key]) kept.set(key, value);
  const text = kept.toString();
  if (text !== location.hash.slice(1)) history.replaceState(null, "", text === "" ? location.pathname + location.search : "#" + text);
}

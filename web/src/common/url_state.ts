// The state of a page in the fragment of its address, so that it can be linked to: #group_by=path&include=foo

export type Values = Record<string, string>;

export function readState(): Values {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Replaces the state, or adds a step to go back from. Values that are empty, or what DEFAULTS says, are left out. */
export function writeState(values: Values, defaults: Values, isStep = false): void {
  const kept = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== "" && value !== defaults[key]) kept.set(key, value);
  const text = kept.toString();
  if (text === location.hash.slice(1)) return;
  const address = text === "" ? location.pathname + location.search : "#" + text;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

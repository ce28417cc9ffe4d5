// The state of the page, which is in its address: #view=reports&search=nightly
import { useEffect, useState } from "preact/hooks";
import { readState, writeState } from "../common/url_state";

export const VIEWS = ["binaries", "symbolize", "reports"] as const;
export type View = (typeof VIEWS)[number];

export interface State {
  view: View;
  search: string;
  /** The binary that is shown, or that addresses without a module belong to. */
  file: string;
  /** The report that others are compared with. */
  before: string;
}

const DEFAULTS: State = { view: "binaries", search: "", file: "", before: "" };

function read(): State {
  const values = readState();
  const view = VIEWS.find((name) => name === values.view) ?? DEFAULTS.view;
  return { view, search: values.search ?? "", file: values.file ?? "", before: values.before ?? "" };
}

export type Change = (change: Partial<State>, isStep?: boolean) => void;

/** The state, and what changes it; IS_STEP adds a step to go back from. */
export function usePageState(): [State, Change] {
  const [state, setState] = useState<State>(read);
  useEffect(() => {
    const follow = () => setState(read());
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("popstate", follow);
    };
  }, []);
  const change: Change = (part, isStep = false) => {
    setState((before) => {
      const next = { ...before, ...part };
      writeState({ ...next }, { ...DEFAULTS }, isStep);
      return next;
    });
  };
  return [state, change];
}

/** The fragment of a state, for links. */
export function linkTo(part: Partial<State>): string {
  const values = new URLSearchParams();
  for (const [key, value] of Object.entries(part))
    if (value !== "" && value !== DEFAULTS[key as keyof State]) values.set(key, value);
  return "#" + values.toString();
}

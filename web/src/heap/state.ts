// The state of the page, which is in its address.
import { useEffect, useState } from "preact/hooks";
import { readState, writeState } from "../common/url_state";
import { Cost, COSTS, Window } from "./windows";

export interface State {
  /** "FROM-TO" in bins; empty: all. */
  window: string;
  cost: string;
  unit: string;
  view: string;
  by: string;
  invert: string;
  search: string;
  table: string;
  sort: string;
  chosen: string;
}

const DEFAULTS: State = {
  window: "", cost: "peak", unit: "bytes", view: "top-down", by: "", invert: "", search: "", table: "sites", sort: "self", chosen: "",
};

/** Browsers complain about addresses that change too often. */
const DELAY = 250;

export function useHeapState(): [State, (some: Partial<State>) => void] {
  const [state, setState] = useState<State>(() => ({ ...DEFAULTS, ...readState() }));
  useEffect(() => {
    const timer = setTimeout(() => writeState({ ...state }, { ...DEFAULTS }), DELAY);
    return () => clearTimeout(timer);
  }, [state]);
  useEffect(() => {
    const onHash = () => setState({ ...DEFAULTS, ...readState() });
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  return [state, (some) => setState((old) => ({ ...old, ...some }))];
}

export function windowOf(text: string, bins: number): Window {
  const [from, to] = /^\d+-\d+$/.test(text) ? text.split("-").map(Number) : [0, bins];
  return from < to && to <= bins ? { from, to } : { from: 0, to: bins };
}

export function costOf(text: string): Cost {
  return COSTS.find((cost) => cost === text) ?? "peak";
}

// What every flame graph can do: the direction, the place of its root, search, zoom out, and SVG.
import { ComponentChildren } from "preact";
import { counted } from "./format";

interface Shown {
  view: string;
  invert: string;
  search: string;
}

interface Properties {
  state: Shown;
  update: (some: Partial<Shown>) => void;
  /** What the graph begins with if it goes up: "allocations". */
  leaves: string;
  /** How many functions the search has found; null: it is not a regular expression. */
  found: number | null;
  isZoomed: boolean;
  onReset: () => void;
  onSave: () => void;
  /** Further controls of the graph. */
  children?: ComponentChildren;
}

export function FlameControls({ state, update, leaves, found, isZoomed, onReset, onSave, children }: Properties) {
  const isInverted = state.invert === "1";
  return (
    <>
      <label>Graph{" "}
        <select value={state.view} onChange={(event) => update({ view: event.currentTarget.value })}>
          <option value="top-down">from main down</option>
          <option value="bottom-up">from {leaves} up</option>
        </select>
      </label>
      {children}
      <label><input type="checkbox" checked={isInverted} onChange={() => update({ invert: isInverted ? "" : "1" })} /> root at the bottom</label>
      <label><span class="hidden-label">Search</span>
        <input type="search" placeholder="Search functions and files" value={state.search} onInput={(event) => update({ search: event.currentTarget.value })} />
      </label>
      {state.search !== "" && <output>{found === null ? "not a regular expression" : `${counted(found, "function")} found`}</output>}
      <button onClick={onReset} disabled={!isZoomed}>Reset zoom</button>
      <button onClick={onSave}>Save SVG</button>
    </>
  );
}

// The controls above the treemap.
import { useRef } from "preact/hooks";
import { GROUPINGS, Grouping } from "./groups";
import { FLAGS, SizeModel } from "./model";
import { State, defaults, parsePattern } from "./state";

interface Props {
  model: SizeModel;
  state: State;
  update(some: Partial<State>): void;
  onExport(kind: "csv" | "json" | "svg"): void;
}

export function Filters({ model, state, update, onExport }: Props) {
  const { info } = model;
  const sections = [...new Set(info.segments.filter((segment) => !segment.is_bss).map((segment) => segment.section))];
  const hasMethods = sections.includes(".dex.method");
  const usual = defaults(info);
  const isFiltered = (["include", "exclude", "search"] as const).some((key) => state[key] !== "") || state.min_size > 0 ||
    (["hide", "flags", "status"] as const).some((key) => state[key].length > 0);
  return (
    <div class="filters" role="search" aria-label="Filters">
      <label>Group by{" "}
        <select value={state.group_by} onChange={(event) => update({ group_by: event.currentTarget.value as Grouping, focus: [] })}>
          {Object.entries(GROUPINGS).map(([key, title]) => (key !== "inlined" || info.inlined) && <option value={key}>{title}</option>)}
        </select>
      </label>
      <label>Colour{" "}
        <select value={state.color} onChange={(event) => update({ color: event.currentTarget.value as State["color"] })}>
          <option value="section">section</option>
          <option value="component">component</option>
          {model.isDiff && <option value="growth">growth</option>}
        </select>
      </label>
      <label><span class="hidden-label">Search</span>
        <input
          id="search" type="search" placeholder="Search names and paths" value={state.search} spellcheck={false} autocomplete="off"
          onInput={(event) => update({ search: event.currentTarget.value })}
        />
      </label>
      <Pattern title="Include" value={state.include} onInput={(include) => update({ include })} />
      <Pattern title="Exclude" value={state.exclude} onInput={(exclude) => update({ exclude })} />
      <label>At least{" "}
        <input class="bytes" type="number" min="0" value={state.min_size} onInput={(event) => update({ min_size: Math.max(0, event.currentTarget.valueAsNumber || 0) })} /> bytes
      </label>
      <Choices title="Sections" all={sections} chosen={sections.filter((section) => !state.hide.includes(section))}
        count={state.hide.length > 0 ? `${sections.length - state.hide.length} of ${sections.length}` : ""}
        onChange={(shown) => update({ hide: sections.filter((section) => !shown.includes(section)) })} />
      <Choices title="Flags" all={FLAGS} chosen={state.flags} count={state.flags.length > 0 ? String(state.flags.length) : ""} onChange={(flags) => update({ flags })} />
      {model.isDiff && (
        <Choices title="Status" all={["changed", "added", "removed"]} chosen={state.status} count={state.status.length > 0 ? String(state.status.length) : ""}
          onChange={(status) => update({ status })} />
      )}
      <label>Unit{" "}
        <select value={state.byteunit} onChange={(event) => update({ byteunit: event.currentTarget.value as State["byteunit"] })}>
          {["auto", "B", "KiB", "MiB", "GiB"].map((unit) => <option>{unit}</option>)}
        </select>
      </label>
      {hasMethods && (
        <label><input type="checkbox" checked={state.method_count} onChange={(event) => update({ method_count: event.currentTarget.checked, focus: [] })} /> Method count</label>
      )}
      <button disabled={!isFiltered} onClick={() => update({ include: "", exclude: "", search: "", min_size: 0, hide: [], flags: [], status: usual.status })}>Clear filters</button>
      <Export onExport={onExport} />
    </div>
  );
}

function Pattern({ title, value, onInput }: { title: string; value: string; onInput(value: string): void }) {
  const { problem } = parsePattern(value);
  return (
    <label>{title}{" "}
      <input
        class="pattern" placeholder="regular expression" value={value} aria-invalid={problem !== ""} title={problem} spellcheck={false} autocomplete="off"
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

interface ChoicesProps {
  title: string;
  all: readonly string[];
  chosen: string[];
  count: string;
  onChange(chosen: string[]): void;
}

function Choices({ title, all, chosen, count, onChange }: ChoicesProps) {
  const toggle = (value: string) => onChange(chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value]);
  return (
    <Popup title={title + (count ? ` (${count})` : "")}>
      <fieldset>
        <legend class="hidden-label">{title}</legend>
        {all.map((value) => <label><input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} /> <bdi>{value}</bdi></label>)}
        {chosen.length < all.length && all.length > 3 && <button onClick={() => onChange([...all])}>all</button>}
        {chosen.length > 0 && all.length > 3 && <button onClick={() => onChange([])}>none</button>}
      </fieldset>
    </Popup>
  );
}

const EXPORTS = { csv: "CSV: the symbols that are shown", json: "JSON: the symbols that are shown", svg: "SVG: the treemap" } as const;

function Export({ onExport }: { onExport(kind: keyof typeof EXPORTS): void }) {
  return (
    <Popup title="Export">
      <div class="menu">
        {(Object.keys(EXPORTS) as (keyof typeof EXPORTS)[]).map((kind) => (
          <button onClick={(event) => { event.currentTarget.closest("details")!.open = false; onExport(kind); }}>{EXPORTS[kind]}</button>
        ))}
      </div>
    </Popup>
  );
}

/** Opens below its title; closes with Escape, or when the focus leaves it. */
function Popup({ title, children }: { title: string; children: preact.ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  return (
    <details
      ref={box} class="popup"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !box.current!.open) return;
        box.current!.open = false;
        box.current!.querySelector("summary")!.focus();
        event.stopPropagation();
      }}
      onFocusOut={(event) => {
        const to = event.relatedTarget as Node | null;
        if (to && !box.current!.contains(to)) box.current!.open = false;
      }}
    >
      <summary>{title}</summary>
      <div class="popup-body">{children}</div>
    </details>
  );
}

// The controls above the treemap.
import { GROUPINGS, Grouping } from "./groups";
import { FLAGS, SizeModel } from "./model";
import { State } from "./state";

interface Props {
  model: SizeModel;
  state: State;
  update(some: Partial<State>): void;
}

export function Filters({ model, state, update }: Props) {
  const sections = [...new Set(model.info.segments.filter((segment) => !segment.is_bss).map((segment) => segment.section))];
  const toggle = (list: string[], value: string) => (list.includes(value) ? list.filter((other) => other !== value) : [...list, value]);
  return (
    <div class="filters" role="search" aria-label="Filters">
      <label>Group by{" "}
        <select value={state.group_by} onChange={(event) => update({ group_by: event.currentTarget.value as Grouping, focus: [] })}>
          {Object.entries(GROUPINGS).map(([key, title]) => <option value={key}>{title}</option>)}
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
        <input type="search" placeholder="Search" value={state.search} onInput={(event) => update({ search: event.currentTarget.value })} />
      </label>
      <label>Include{" "}
        <input class="pattern" placeholder="regular expression" value={state.include} onInput={(event) => update({ include: event.currentTarget.value })} />
      </label>
      <label>Exclude{" "}
        <input class="pattern" placeholder="regular expression" value={state.exclude} onInput={(event) => update({ exclude: event.currentTarget.value })} />
      </label>
      <label>At least{" "}
        <input class="bytes" type="number" min="0" value={state.min_size} onInput={(event) => update({ min_size: Math.max(0, event.currentTarget.valueAsNumber || 0) })} /> bytes
      </label>
      <label>Unit{" "}
        <select value={state.byteunit} onChange={(event) => update({ byteunit: event.currentTarget.value as State["byteunit"] })}>
          {["auto", "B", "KiB", "MiB", "GiB"].map((unit) => <option>{unit}</option>)}
        </select>
      </label>
      <details>
        <summary>Sections{state.hide.length > 0 ? ` (${sections.length - state.hide.length} of ${sections.length})` : ""}</summary>
        <fieldset>
          <legend class="hidden-label">Sections</legend>
          {sections.map((section) => (
            <label><input type="checkbox" checked={!state.hide.includes(section)} onChange={() => update({ hide: toggle(state.hide, section) })} /> {section}</label>
          ))}
        </fieldset>
      </details>
      <details>
        <summary>Flags{state.flags.length > 0 ? ` (${state.flags.length})` : ""}</summary>
        <fieldset>
          <legend class="hidden-label">Flags</legend>
          {FLAGS.map((flag) => (
            <label><input type="checkbox" checked={state.flags.includes(flag)} onChange={() => update({ flags: toggle(state.flags, flag) })} /> {flag}</label>
          ))}
        </fieldset>
      </details>
      {model.isDiff && (
        <details>
          <summary>Status{state.status.length > 0 ? ` (${state.status.length})` : ""}</summary>
          <fieldset>
            <legend class="hidden-label">Status</legend>
            {["changed", "added", "removed"].map((status) => (
              <label><input type="checkbox" checked={state.status.includes(status)} onChange={() => update({ status: toggle(state.status, status) })} /> {status}</label>
            ))}
          </fieldset>
        </details>
      )}
    </div>
  );
}

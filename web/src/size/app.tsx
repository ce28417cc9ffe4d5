// The page: treemap and tree table beside each other, filters above, the card of what is chosen below.
import { useEffect, useMemo, useState } from "preact/hooks";
import { bytes, change, count, percent } from "../common/format";
import { Tree } from "../common/tree";
import { TreeTable } from "../common/tree_table";
import { TreemapView } from "../common/treemap_view";
import { Card } from "./card";
import { changeColor, sectionColor, wheelColor } from "./colors";
import { Filters } from "./filters";
import { applyFilter, Filter, groupRows, matchRows, needsNames } from "./groups";
import { FLAGS, SizeModel, STATUS } from "./model";
import { loadState, saveState, State } from "./state";

/** A regular expression that the user writes; null for none, or for one that is not complete yet. */
function pattern(text: string): RegExp | null {
  if (text === "") return null;
  try {
    return new RegExp(text, "i");
  } catch {
    return null;
  }
}

function filterOf(model: SizeModel, state: State): Filter {
  const hidden = new Set<number>();
  model.info.segments.forEach((segment, i) => state.hide.includes(segment.section) && hidden.add(i));
  return {
    include: pattern(state.include),
    exclude: pattern(state.exclude),
    minSize: state.min_size,
    hidden,
    flags: state.flags.reduce((set, name) => set | (1 << FLAGS.indexOf(name)), 0),
    status: state.status.length ? new Set(state.status.map((name) => STATUS.indexOf(name as (typeof STATUS)[number]))) : null,
  };
}

export function App({ model }: { model: SizeModel }) {
  const [state, setState] = useState<State>(() => loadState(model.isDiff));
  const [hasNames, setHasNames] = useState(false);
  const [chosen, setChosen] = useState<number | null>(null);
  const update = (some: Partial<State>) => setState((old) => ({ ...old, ...some }));

  useEffect(() => {
    void Promise.all([model.loadNames(), model.loadLabels()]).then(() => setHasNames(true));
    const onHash = () => setState(loadState(model.isDiff));
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  useEffect(() => saveState(state), [state]);

  const grouping = needsNames(state.group_by) && !hasNames ? "path" : state.group_by;
  const tree: Tree = useMemo(() => groupRows(model, grouping), [grouping]);
  const version = useMemo(() => {
    const filter = filterOf(model, state);
    if (!hasNames) filter.include = filter.exclude = null;
    tree.filter(applyFilter(model, filter));
    return {};
  }, [tree, hasNames, state.include, state.exclude, state.min_size, state.hide.join(), state.flags.join(), state.status.join()]);
  const versionNumber = useCounter(version);
  const group = useMemo(() => tree.find(state.focus), [tree, state.focus.join("\x1f")]);
  const search = hasNames ? pattern(state.search) : null;
  const found = useMemo(() => (search ? matchRows(model, search) : null), [hasNames, state.search]);
  const foundTotal = useMemo(() => sumFound(model, tree, found), [found, version]);

  const zoom = (to: number) => update({ focus: tree.path(to).map((step) => tree.names[step]) });
  const value = (item: number) => (item >= 0 ? tree.values[item] : model.rows.pss[-1 - item]);
  const show = (amount: number) => (model.isDiff ? change(amount, state.byteunit) : bytes(amount, state.byteunit));
  const name = (item: number) =>
    item >= 0 ? tree.names[item] || "(root)" : hasNames ? model.shortName(-1 - item) || "(no name)" : "";
  const total = tree.values[0];
  const color = (item: number) => {
    if (state.color === "growth" && model.isDiff)
      return item >= 0 ? changeColor(value(item), tree.weights[item]) : changeColor(value(item), model.rows.before![-1 - item]);
    if (item >= 0) return "#9aa5b1";
    const row = -1 - item;
    if (state.color === "component") return wheelColor(model.rows.component[row]);
    return sectionColor(model.info.segments[model.rows.segment[row]].section);
  };

  return (
    <div class="page">
      <header>
        <h1><bdi>{model.info.name}</bdi></h1>
        <Totals model={model} total={total} rows={tree.counts[0]} />
      </header>
      <Filters model={model} state={state} update={update} />
      <nav aria-label="Place">
        <button onClick={() => zoom(0)} disabled={group === 0}>All</button>
        {tree.path(group).map((step) => (
          <> › <button onClick={() => zoom(step)} disabled={step === group}><bdi>{tree.names[step]}</bdi></button></>
        ))}
        <span class="dim"> {show(tree.values[group])} ({count(Math.round(tree.values[group]))} bytes) in {count(tree.counts[group])} symbols</span>
        {found && (
          <output class="found">
            {count(foundTotal.count)} found, {show(foundTotal.bytes)} ({count(foundTotal.bytes)} bytes)
          </output>
        )}
      </nav>
      <main>
        <TreemapView
          tree={tree} group={group} version={versionNumber} found={found} name={name} color={color}
          label={`Treemap of ${model.info.name}, ${count(Math.round(total))} bytes; the table has the same content`}
          describe={(item) => `${item >= 0 ? tree.path(item).map((step) => tree.names[step]).join(" › ") : hasNames ? model.name(-1 - item).slice(0, 500) : ""}\n${show(value(item))}, ${percent(value(item), total)}`}
          onZoom={zoom} onChoose={setChosen}
        />
        <TreeTable
          tree={tree} group={group} version={versionNumber} label="Groups and symbols by size" name={name} chosen={chosen}
          onChoose={setChosen} onZoom={zoom}
          columns={[
            { title: model.isDiff ? "change" : "size", width: "7.5em", cell: (item) => <Amount value={value(item)} text={show(value(item))} isDiff={model.isDiff} /> },
            { title: "%", width: "4.5em", cell: (item) => percent(value(item), total), class: "dim" },
            { title: "symbols", width: "5.5em", cell: (item) => (item >= 0 ? count(tree.counts[item]) : ""), class: "dim" },
          ]}
        />
      </main>
      <Card model={model} tree={tree} item={chosen} hasNames={hasNames} unit={state.byteunit} />
    </div>
  );
}

function Amount({ value, text, isDiff }: { value: number; text: string; isDiff: boolean }) {
  return <span class={isDiff ? (value > 0 ? "grown" : value < 0 ? "shrunk" : "") : ""} title={`${count(value)} bytes`}>{text}</span>;
}

/** A number that grows whenever VALUE is another object. */
function useCounter(value: object): number {
  const [counter] = useState({ value: null as object | null, number: 0 });
  if (counter.value !== value) {
    counter.value = value;
    counter.number++;
  }
  return counter.number;
}

function sumFound(model: SizeModel, tree: Tree, found: Uint8Array | null): { count: number; bytes: number } {
  const sum = { count: 0, bytes: 0 };
  if (found === null) return sum;
  for (let row = 0; row < found.length; row++)
    if (found[row] !== 0 && tree.passes(row)) {
      sum.count++;
      sum.bytes += model.rows.pss[row];
    }
  return sum;
}

function Totals({ model, total, rows }: { model: SizeModel; total: number; rows: number }) {
  const { info } = model;
  if (!model.isDiff)
    return (
      <p id="totals">
        <b>{count(info.file_bytes!)} bytes</b> in the file ({bytes(info.file_bytes!)}); shown: <b>{count(Math.round(total))} bytes</b> in {count(rows)} symbols
      </p>
    );
  return (
    <p id="totals">
      <b>{(total > 0 ? "+" : "") + count(Math.round(total))} bytes</b>: {count(info.counts!.added)} added, {count(info.counts!.removed)} removed, {count(info.counts!.changed)} changed
    </p>
  );
}

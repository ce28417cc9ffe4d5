// Treemap and tree table beside each other, filters above, the card of what is chosen below.
import { useEffect, useMemo, useState } from "preact/hooks";
import { download } from "../common/download";
import { bytes, change, count, percent } from "../common/format";
import { Tree } from "../common/tree";
import { TreeTable } from "../common/tree_table";
import { layTreemap } from "../common/treemap";
import { treemapSvg } from "../common/treemap_draw";
import { TreemapView } from "../common/treemap_view";
import type { Loaded } from "./app";
import { Card } from "./card";
import { legend } from "./colors";
import { inlinedRow, symbolRow, toCsv, toJson } from "./exports";
import { Filters } from "./filters";
import { Filter, needsNames } from "./groups";
import { FLAGS, SizeModel, STATUS } from "./model";
import { InlinedRows, RowSource, SymbolRows } from "./rows";
import { parsePattern, State } from "./state";
import { sumFound } from "./sums";

interface Props {
  model: SizeModel;
  loaded: Loaded;
  state: State;
  update(some: Partial<State>): void;
}

const SVG_SIZE = [1600, 1000] as const;
const ICONS: Record<string, string> = { added: "+", removed: "−", changed: "~" };

function filterOf(model: SizeModel, state: State): Filter {
  const hidden = new Set<number>();
  model.info.segments.forEach((segment, i) => state.hide.includes(segment.section) && hidden.add(i));
  return {
    include: parsePattern(state.include).pattern,
    exclude: parsePattern(state.exclude).pattern,
    minSize: state.min_size,
    hidden,
    flags: state.flags.reduce((set, name) => (FLAGS.includes(name) ? set | (1 << FLAGS.indexOf(name)) : set), 0),
    status: model.isDiff && state.status.length ? new Set(state.status.map((name) => STATUS.indexOf(name as (typeof STATUS)[number]))) : null,
  };
}

export function SizesView({ model, loaded, state, update }: Props) {
  const hasNames = loaded.names;
  const isInlined = state.group_by === "inlined" && loaded.inlined !== null;
  const rows: RowSource = useMemo(
    () => (isInlined ? new InlinedRows(loaded.inlined!) : new SymbolRows(model, state.method_count)), [isInlined, state.method_count],
  );
  const grouping = needsNames(state.group_by) && !hasNames ? "path" : state.group_by;
  const tree: Tree = useMemo(() => rows.makeTree(grouping), [rows, grouping]);
  const [chosen, setChosen] = useState<number | null>(state.row >= 0 ? -1 - state.row : null);

  const filterKey = [state.include, state.exclude, state.min_size, ...state.hide, "", ...state.flags, "", ...state.status].join("\0");
  const mask = useMemo(() => {
    const filter = filterOf(model, state);
    if (!hasNames) filter.include = filter.exclude = null;
    return rows.filter(filter);
  }, [rows, hasNames, filterKey]);
  const version = useVersion(useMemo(() => (tree.filter(mask), {}), [tree, mask]));
  const group = useMemo(() => tree.find(state.focus), [tree, state.focus.join("\x1f")]);
  const found = useMemo(() => (hasNames && state.search !== "" ? rows.search(state.search) : null), [rows, hasNames, state.search]);
  const foundTotal = useMemo(() => sumFound(tree, found, group), [tree, found, version, group]);
  const list = useFoundList(rows, hasNames, mask, found, tree, group);
  const look = useVersionOf(rows, state.color, hasNames);
  const colorKey = state.color === "growth" && !model.isDiff ? "section" : state.color;
  const colors = useMemo(() => legend(model, colorKey), [colorKey]);

  // What is chosen belongs to a tree: another tree has other groups, and other rows if they are of another kind.
  useEffect(() => setChosen((old) => (old !== null && old < 0 ? old : null)), [tree]);
  useEffect(() => setChosen((old) => (state.row >= 0 ? -1 - state.row : old !== null && old < 0 ? null : old)), [rows, state.row]);
  const choose = (item: number) => {
    setChosen(item);
    if (!isInlined) update({ row: item < 0 ? -1 - item : -1 });
  };
  const zoom = (to: number) => update({ focus: tree.pathNames(to) });

  const isMethods = state.method_count && !isInlined;
  const isChange = model.isDiff && !isInlined;
  const noun = isInlined ? "inlined functions" : isMethods ? "methods" : "symbols";
  const show = (amount: number) =>
    isMethods ? (isChange && amount > 0 ? "+" : "") + count(amount) : isChange ? change(amount, state.byteunit) : bytes(amount, state.byteunit);
  const exact = (amount: number) => (isMethods ? `${count(amount)} methods` : `${count(amount)} bytes`);
  const name = (item: number) => (item >= 0 ? (tree.names[item].trim() ? tree.names[item] : "(blank)") : hasNames ? rows.shortName(-1 - item) || "(no name)" : "…");
  const describe = (item: number) => {
    const title = item >= 0 ? tree.pathNames(item).join(" › ") : hasNames ? rows.fullName(-1 - item).slice(0, 500) : "";
    const symbols = item >= 0 ? ` in ${count(tree.counts[item])} ${noun}` : "";
    return `${title}\n${show(tree.valueOf(item))} (${exact(tree.valueOf(item))})${symbols}, ${percent(tree.valueOf(item), tree.values[0])}`;
  };
  const color = (row: number) => rows.color(row, colorKey);
  const total = tree.values[0];

  const save = (kind: "csv" | "json" | "svg") => {
    const base = model.info.name.replace(/[^\w.-]+/g, "_").slice(0, 80) || "sizes";
    if (kind === "svg") {
      const rectangles = layTreemap(tree, group, ...SVG_SIZE);
      const how = { tree, name, color, found, foundIn: found ? tree.countIn(found) : null, chosen: null };
      download(base + ".svg", "image/svg+xml", [treemapSvg(rectangles, ...SVG_SIZE, `${model.info.name}: ${exact(tree.values[group])}`, how, describe)]);
      return;
    }
    const shown: number[] = [];
    for (let row = 0; row < rows.count; row++)
      if (mask[row] !== 0 && (found === null || found[row] !== 0) && (group === 0 || tree.isIn(-1 - row, group))) shown.push(row);
    const get = isInlined ? (row: number) => inlinedRow(loaded.inlined!, row) : (row: number) => symbolRow(model, row);
    if (kind === "csv") download(base + ".csv", "text/csv", toCsv(shown, get));
    else download(base + ".json", "application/json", toJson(shown, get));
  };

  const columns = (of: Tree) => [
    { key: "size", value: (item: number) => of.valueOf(item), title: isMethods ? "methods" : isChange ? "change" : "size", width: "7.5em", cell: (item: number) => <Amount value={of.valueOf(item)} text={show(of.valueOf(item))} exact={exact(of.valueOf(item))} isChange={isChange} /> },
    { key: "share", value: (item: number) => of.valueOf(item), title: "%", width: "4.6em", cell: (item: number) => percent(of.valueOf(item), total), class: "dim" },
    ...(of === tree ? [{ key: "symbols", value: (item: number) => (item >= 0 ? of.counts[item] : 1), title: isInlined ? "functions" : "symbols", width: "5.5em", cell: (item: number) => (item >= 0 ? count(of.counts[item]) : ""), class: "dim" }] : []),
  ];
  const mark = (item: number) => {
    if (!isChange || item >= 0) return null;
    const status = STATUS[model.rows.status![-1 - item]];
    return <span class={"mark " + status} role="img" aria-label={status} title={status}>{ICONS[status]}</span>;
  };

  return (
    <>
      <Filters model={model} state={state} update={update} onExport={save} />
      <nav aria-label="Place">
        <span class="crumbs">
          <button onClick={() => zoom(0)} disabled={group === 0}>All</button>
          {tree.path(group).map((step) => (
            <><span class="dim" aria-hidden="true">›</span><button onClick={() => zoom(step)} disabled={step === group} title={tree.names[step]}><bdi>{tree.names[step]}</bdi></button></>
          ))}
        </span>
        <span id="shown"><b>{show(tree.values[group])}</b> <span class="dim">({exact(tree.values[group])}) in {count(tree.counts[group])} {noun}{isInlined ? `, of ${count(loaded.inlined!.codeBytes)} bytes of code` : ""}</span></span>
        {found && <output class="found" id="found">{count(foundTotal.count)} found{group === 0 ? "" : " here"}, {show(foundTotal.value)} ({exact(foundTotal.value)})</output>}
        {!hasNames && <span class="dim">reading names…</span>}
      </nav>
      <main>
        <section class="map" aria-label="Treemap">
          <TreemapView
            tree={tree} group={group} version={version} look={look} found={found} name={name} color={color} chosen={chosen}
            label={`Treemap of ${model.info.name.slice(0, 200)}, ${exact(total)}. Arrow keys move, Enter zooms in, Escape zooms out. The table has the same content.`}
            describe={describe} onZoom={zoom} onChoose={choose}
          />
          {!isInlined && (
            <ul class="legend" aria-label="Colours">
              {colors.map((entry) => <li><span class="swatch" style={{ background: entry.color }} /><bdi>{entry.text.slice(0, 60)}</bdi></li>)}
            </ul>
          )}
        </section>
        {list ? (
          <TreeTable
            tree={list.tree} group={list.group} version={list.version} label="What the search found" name={name} detail={(item) => (item < 0 ? rows.path(-1 - item) : "")} mark={mark}
            chosen={chosen} onChoose={choose} onZoom={() => {}} columns={columns(list.tree)} sort={state.sort} onSort={(sort) => update({ sort })}
          />
        ) : (
          <TreeTable
            tree={tree} group={group} version={version} label="Groups and symbols by size" name={name} mark={mark} chosen={chosen} onChoose={choose}
            onZoom={zoom} columns={columns(tree)} sort={state.sort} onSort={(sort) => update({ sort })}
          />
        )}
      </main>
      <Card model={model} inlined={isInlined ? loaded.inlined : null} tree={tree} item={chosen ?? group} hasNames={hasNames} unit={state.byteunit} onChoose={choose} />
    </>
  );
}

function Amount({ value, text, exact, isChange }: { value: number; text: string; exact: string; isChange: boolean }) {
  return <span class={isChange ? (value > 0 ? "grown" : value < 0 ? "shrunk" : "") : ""} title={exact}>{text}</span>;
}

/**
 * The rows that a search found in a group and that pass the filter, the largest first, as a tree of one group; null without a search.
 * The tree is made as soon as a search is possible, so that the first letter is as fast as the next ones.
 */
function useFoundList(
  rows: RowSource, isReady: boolean, mask: Uint8Array, found: Uint8Array | null, groups: Tree, group: number,
): { tree: Tree; group: number; version: number } | null {
  const tree = useMemo(() => (isReady ? new Tree(["found"], new Uint32Array(rows.count), "", rows.values, rows.order, false) : null), [rows, isReady]);
  const version = useVersion(useMemo(() => {
    if (tree === null || found === null) return {};
    const both = new Uint8Array(mask.length);
    for (let row = 0; row < both.length; row++) both[row] = mask[row] & found[row];
    if (group !== 0) {
      const isHere = groups.groupsBelow(group);
      for (let row = 0; row < both.length; row++) both[row] &= isHere[groups.groupOf(row)];
    }
    tree.filter(both);
    return {};
  }, [tree, mask, found, groups, group]));
  return tree && found && { tree, group: 1, version };
}

/** A number that grows whenever VALUE is another object. */
function useVersion(value: object): number {
  const [counter] = useState({ value: null as object | null, number: 0 });
  if (counter.value !== value) {
    counter.value = value;
    counter.number++;
  }
  return counter.number;
}

function useVersionOf(...values: unknown[]): number {
  return useVersion(useMemo(() => ({}), values));
}

// The page of two heap traces: what changed, a differential flame graph, and the functions and sites that changed.
import { useEffect, useMemo, useState } from "preact/hooks";
import { BottomUp, Calls, CallView, FrameSum, sumFrames, TopDown } from "../common/calls";
import { download } from "../common/download";
import { growthColor } from "../common/flame_colors";
import { FlameControls } from "../common/flame_controls";
import { flameSvg } from "../common/flame_svg";
import { FlameView } from "../common/flame_view";
import { bytes, change, count, percent } from "../common/format";
import { pattern } from "../common/search";
import { ServedLinks } from "../common/served_links";
import { ThemeSwitch } from "../common/theme";
import { Column, TopTable } from "../common/top_table";
import { DIFF_COSTS, DiffCost, HeapDiffModel } from "./diff_model";
import { useHeapState } from "./state";
import { whole } from "./totals";
import { allocatingFrames, functionTree, selfOf } from "./trees";

/** "+1,234" */
function signedWhole(value: bigint): string {
  return (value > 0n ? "+" : "") + value.toLocaleString("en-US");
}

function DiffTotal({ name, before, after }: { name: string; before: string; after: string }) {
  const by = BigInt(after) - BigInt(before);
  return (
    <div class="amount">
      <dt>{name}</dt>
      <dd><b class={by > 0n ? "grown" : by < 0n ? "shrunk" : ""}>{signedWhole(by)} bytes</b> <span>{whole(before)} before, {whole(after)} after</span></dd>
    </div>
  );
}

function sumSites(rowSite: Uint32Array, before: Float64Array, after: Float64Array): FrameSum[] {
  const sums = new Map<number, FrameSum>();
  for (let row = 0; row < rowSite.length; row++) {
    const frame = rowSite[row];
    let sum = sums.get(frame);
    if (!sum) sums.set(frame, (sum = { frame, self: 0, total: 0, selfBefore: 0, totalBefore: 0 }));
    sum.self += after[row];
    sum.selfBefore += before[row];
  }
  for (const sum of sums.values()) [sum.total, sum.totalBefore] = [sum.self, sum.selfBefore];
  return [...sums.values()];
}

export function DiffApp({ model }: { model: HeapDiffModel }) {
  const { info, calls } = model;
  const [state, update] = useHeapState();
  const cost: DiffCost = DIFF_COSTS.find((one) => one === state.cost) ?? "peak";
  const isCount = state.unit === "blocks";
  const unit = isCount ? "blocks" : "bytes";
  const amount = (value: number) => (isCount ? count(value) : bytes(value));
  const signed = (value: number) => (isCount ? (value > 0 ? "+" : "") + count(value) : change(value));
  const [node, setNode] = useState(0);

  const { before, after } = useMemo(() => model.figures(cost, isCount), [cost, isCount]);
  const tree = useMemo(() => functionTree({ parent: calls.parent, frame: calls.frame, frameFunction: calls.frameFunction, functions: info.functions, rowNode: model.rowNode }), []);
  const treeCalls: Calls = useMemo(() => ({ parent: tree.parent, frame: tree.frame, self: selfOf(tree, after), before: selfOf(tree, before) }), [before, after]);
  const view: CallView = useMemo(() => (state.view === "bottom-up" ? new BottomUp(treeCalls) : new TopDown(treeCalls)), [treeCalls, state.view]);
  useEffect(() => setNode(0), [view]);
  const [shown, setShown] = useState(view);
  const zoomed = shown === view ? node : 0;
  const zoom = (to: number) => {
    setShown(view);
    setNode(to);
  };
  const rowSite = useMemo(() => {
    const sites = allocatingFrames(calls.parent, calls.frame, (frame) => calls.isLibrary[calls.frameFunction[frame]] === 1);
    return model.rowNode.map((at) => calls.frameFunction[sites[at]]);
  }, []);
  const table = state.table === "functions" ? "functions" : "sites";
  const sums = useMemo(() => {
    const all = table === "functions" ? sumFrames(treeCalls, info.functions) : sumSites(rowSite, before, after);
    return all.filter((sum) => sum.self !== sum.selfBefore || sum.total !== sum.totalBefore);
  }, [treeCalls, table]);
  const search = pattern(state.search);
  const found = useMemo(() => {
    const list = new Set<number>();
    if (search) for (let of = 1; of < info.functions; of++) if (search.test(calls.name(of)) || search.test(calls.file(of))) list.add(of);
    return list;
  }, [state.search]);
  const lines = search ? sums.filter((sum) => found.has(sum.frame)) : sums;

  const name = (of: number) => (view.frame(of) < 0 ? "all" : calls.shortName(view.frame(of)));
  const color = (of: number) => growthColor(view.total(of), view.totalBefore(of));
  const describe = (of: number) => {
    const frame = view.frame(of);
    const [now, old] = [view.total(of), view.totalBefore(of)];
    const about = frame > 0 ? [calls.name(frame).slice(0, 1000), calls.file(frame)] : ["all"];
    about.push(`${signed(now - old)} (${count(now - old)} ${unit}${old > 0 ? ", " + percent(now - old, old) : ""})`, `${amount(old)} before, ${amount(now)} after`);
    return about.filter(Boolean).join("\n");
  };
  const tone = (value: number) => (value > 0 ? "grown" : value < 0 ? "shrunk" : "");
  const column = (key: string, title: string, value: (sum: FrameSum) => number): Column => ({ key, title, value, text: (sum) => signed(value(sum)), class: (sum) => tone(value(sum)) });
  const plain = (key: string, title: string, value: (sum: FrameSum) => number): Column => ({ key, title, value, text: (sum) => amount(value(sum)) });
  const columns = table === "functions"
    ? [column("self", "self", (sum) => sum.self - sum.selfBefore), column("total", "total", (sum) => sum.total - sum.totalBefore)]
    : [column("self", "change", (sum) => sum.self - sum.selfBefore), plain("before", "before", (sum) => sum.selfBefore), plain("after", "after", (sum) => sum.self)];
  const saveSvg = () => {
    const title = `${info.before_name} → ${info.name}: ${cost}, ${signed(view.total(0) - view.totalBefore(0))}`;
    download(`${info.name}.diff.${cost}.svg`, "image/svg+xml", [flameSvg(view, zoomed, { title, isDiff: true, isInverted: state.invert === "1", name, color, describe })]);
  };
  const isEmpty = view.total(0) === 0 && view.totalBefore(0) === 0;
  return (
    <div class="page">
      <header>
        <h1><bdi>{info.before_name}</bdi> → <bdi>{info.name}</bdi></h1>
        <span class="command" />
        <ServedLinks />
        <ThemeSwitch />
        <dl id="totals">
          <DiffTotal name="Peak" before={info.before.peak_bytes} after={info.after.peak_bytes} />
          <DiffTotal name="Leaked" before={info.before.leaked_bytes} after={info.after.leaked_bytes} />
          <DiffTotal name="Allocated" before={info.before.allocated_bytes} after={info.after.allocated_bytes} />
          <div class="amount">
            <dt>Stacks</dt>
            <dd><b>{count(info.added)} added, {count(info.removed)} removed</b> <span>{count(info.changed)} changed, {count(info.unchanged)} unchanged</span></dd>
          </div>
        </dl>
      </header>
      <p id="window" class="dim">
        Orange grew, blue shrank; a bar is as wide as the larger side. Stacks match if their functions and files do, whatever the lines.
        {BigInt(info.before.suppressed_bytes) + BigInt(info.after.suppressed_bytes) > 0n &&
          ` Of the leaks, ${whole(info.before.suppressed_bytes)} bytes before and ${whole(info.after.suppressed_bytes)} after are suppressed; the graph does not have them.`}
      </p>
      <div class="filters" role="search" aria-label="View">
        <label>Show{" "}
          <select value={cost} onChange={(event) => update({ cost: event.currentTarget.value })}>
            {DIFF_COSTS.map((one) => <option value={one}>{one}</option>)}
          </select>
        </label>
        <label>in{" "}
          <select value={unit} onChange={(event) => update({ unit: event.currentTarget.value })}>
            <option value="bytes">bytes</option>
            <option value="blocks">blocks</option>
          </select>
        </label>
        <FlameControls
          state={state} update={update} leaves="allocations" found={search ? found.size : null}
          isZoomed={zoomed !== 0} onReset={() => zoom(0)} onSave={saveSvg}
        />
      </div>
      <main class="tall">
        <div class="scroll">
          {isEmpty ? <p class="dim empty">Neither trace has any of this.</p> : (
            <FlameView
              view={view} node={zoomed} isDiff isInverted={state.invert === "1"} name={name} describe={describe} color={color}
              label={`Differential flame graph: ${cost}; the table has the same figures`}
              hasSearch={search !== null} isFound={(of) => found.has(view.frame(of))} onZoom={zoom} onChoose={() => {}}
            />
          )}
        </div>
        <div class="tables">
          <div class="tabs" role="tablist" aria-label="Table">
            {(["sites", "functions"] as const).map((one) => (
              <button role="tab" aria-selected={table === one} onClick={() => update({ table: one })}>{one === "sites" ? "Sites" : "Functions"}</button>
            ))}
            <span class="dim">{count(lines.length)} changed</span>
          </div>
          <TopTable
            key={table} title={table === "functions" ? "Function" : "Site"} sums={lines} columns={columns} sort={state.sort} onSort={(sort) => update({ sort })}
            chosen={null} onChoose={() => {}} name={(of) => calls.shortName(of)} place={(of) => [calls.name(of).slice(0, 1000), calls.file(of)].filter(Boolean).join("\n")}
            after={(of) => <bdi class="dim place">{calls.file(of).slice(calls.file(of).lastIndexOf("/") + 1).slice(0, 200)}</bdi>}
          />
        </div>
      </main>
    </div>
  );
}

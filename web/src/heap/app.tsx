// The page of a heap trace: totals, timeline with a window, flame graph, sites, and small charts.
import { useMemo, useState } from "preact/hooks";
import { BottomUp, Calls, CallView, findInside, FrameSum, sumFrames, TopDown } from "../common/calls";
import { download } from "../common/download";
import { frameColor } from "../common/flame_colors";
import { FlameControls } from "../common/flame_controls";
import { flameSvg } from "../common/flame_svg";
import { FlameView } from "../common/flame_view";
import { bytes, count, percent } from "../common/format";
import { pattern } from "../common/search";
import { ServedLinks } from "../common/served_links";
import { ThemeSwitch } from "../common/theme";
import { Column, TopTable } from "../common/top_table";
import { AddressBox } from "./address_box";
import { Addresses } from "./addresses";
import { Lifetimes, Markers, Sizes, Threads } from "./charts";
import { chosenRows, parseChosen } from "./chosen";
import { Detail } from "./detail";
import { FineWindow } from "./fine_window";
import { HeapModel } from "./model";
import { costOf, useHeapState, windowOf } from "./state";
import { Timeline } from "./timeline";
import { COST_TEXT, Notes, TraceTotals, WindowText } from "./totals";
import { allocatingFrames, functionTree, selfOf, threadTree } from "./trees";
import { COSTS, Figures, figuresOf, liveOver } from "./windows";

/** Sums by number, for the table: self is what counts, total the other unit. */
function sumBy(numbers: ArrayLike<number>, figures: Figures): FrameSum[] {
  const sums = new Map<number, FrameSum>();
  for (let row = 0; row < figures.bytes.length; row++) {
    if (figures.bytes[row] === 0 && figures.count[row] === 0) continue;
    const number = numbers[row];
    let sum = sums.get(number);
    if (!sum) sums.set(number, (sum = { frame: number, self: 0, total: 0, selfBefore: 0, totalBefore: 0 }));
    sum.self += figures.bytes[row];
    sum.total += figures.count[row];
  }
  return [...sums.values()].filter((sum) => sum.self > 0 || sum.total > 0);
}

export function App({ model }: { model: HeapModel }) {
  const { info, calls } = model;
  const [state, update] = useHeapState();
  const [node, setNode] = useState(0);
  const window = useMemo(() => windowOf(state.window, info.bins), [state.window]);
  const cost = costOf(state.cost);
  const isCount = state.unit === "blocks";
  const amount = (value: number) => (isCount ? count(value) : bytes(value));
  const setWindow = ({ from, to }: { from: number; to: number }) => update({ window: from === 0 && to === info.bins ? "" : `${from}-${to}` });

  const figures = useMemo(() => figuresOf(model.entries, cost, window, info.rows, model.rowIsSuppressed), [window, cost]);
  const plain = useMemo(() => functionTree({ ...calls, parent: calls.parent, frame: calls.frame, frameFunction: calls.frameFunction, functions: info.functions, rowNode: model.rowNode }), []);
  const threads = useMemo(() => info.threads.map((thread) => thread.id), []);
  const tree = useMemo(() => (state.by === "thread" ? threadTree(plain, info.functions, model.rowThread, threads) : plain), [state.by]);
  const frameCount = info.functions + threads.length;
  const inside = useMemo(() => findInside({ ...tree, self: new Float64Array(0), before: null }), [tree]);
  const treeCalls: Calls = useMemo(() => ({ parent: tree.parent, frame: tree.frame, self: selfOf(tree, isCount ? figures.count : figures.bytes), before: null }), [tree, figures, isCount]);
  const view: CallView = useMemo(() => (state.view === "bottom-up" ? new BottomUp(treeCalls) : new TopDown(treeCalls)), [treeCalls, state.view]);
  // Nodes of a tree from the root stay the same in every window; those from the functions are made anew.
  const shape = `${state.by} ${state.view}`;
  const [zoomedIn, setZoomedIn] = useState(shape);
  const current = zoomedIn === shape && (state.view !== "bottom-up" || node === 0) && node < tree.parent.length ? node : 0;
  const [bottomNode, setBottomNode] = useState<{ view: CallView; node: number } | null>(null);
  const zoomed = state.view === "bottom-up" ? (bottomNode?.view === view ? bottomNode.node : 0) : current;
  const zoom = (to: number) => {
    if (state.view === "bottom-up") setBottomNode({ view, node: to });
    else {
      setNode(to);
      setZoomedIn(shape);
    }
  };

  const sites = useMemo(() => allocatingFrames(calls.parent, calls.frame, (frame) => calls.isLibrary[calls.frameFunction[frame]] === 1), []);
  const rowSite = useMemo(() => model.rowNode.map((at) => sites[at]), []);
  const search = pattern(state.search);
  const found = useMemo(() => {
    const list = new Uint8Array(frameCount);
    if (search) {
      for (let of = 1; of < info.functions; of++) list[of] = search.test(calls.name(of)) || search.test(calls.file(of)) ? 1 : 0;
      threads.forEach((id, i) => (list[info.functions + i] = search.test(model.threadName(id)) ? 1 : 0));
    }
    return list;
  }, [state.search]);
  const foundNodes = useMemo(() => {
    const list = new Uint8Array(info.nodes);
    for (let i = 1; i < info.nodes; i++) list[i] = list[calls.parent[i]] || found[calls.frameFunction[calls.frame[i]]];
    return list;
  }, [found]);

  const table = state.table === "functions" || state.table === "stacks" ? state.table : "sites";
  const sums = useMemo(() => {
    if (table === "functions") return sumFrames(treeCalls, frameCount, inside).filter((sum) => sum.frame < info.functions);
    return sumBy(table === "stacks" ? model.rowNode : rowSite, figures);
  }, [table, table === "functions" ? treeCalls : figures]);
  const lines = useMemo(() => {
    if (!search) return sums;
    return sums.filter(({ frame }) => (table === "functions" ? found[frame] : table === "stacks" ? foundNodes[frame] : found[calls.frameFunction[frame]]));
  }, [sums, found]);
  const frameOf = (number: number) => (table === "stacks" ? sites[number] : number);
  const lineName = (number: number) => calls.shortName(table === "functions" ? number : calls.frameFunction[frameOf(number)]);
  const linePlace = (number: number) => (table === "functions" ? calls.file(number) : calls.place(frameOf(number)));
  const sum = useMemo(() => sums.reduce((all, one) => all + one.self, 0), [sums]);
  const columns: Column[] = table === "functions"
    ? [
        { key: "self", title: "self", value: (one) => one.self, text: (one) => amount(one.self) },
        { key: "total", title: "total", value: (one) => one.total, text: (one) => amount(one.total) },
      ]
    : [
        { key: "self", title: "bytes", value: (one) => one.self, text: (one) => bytes(one.self) },
        { key: "total", title: "blocks", value: (one) => one.total, text: (one) => count(one.total) },
        { key: "share", title: "share", value: (one) => one.self, text: (one) => percent(one.self, sum) },
      ];

  const chosen = parseChosen(state.chosen, calls);
  const rows = useMemo(() => (chosen ? chosenRows(chosen, calls, model.rowNode, sites) : null), [state.chosen]);
  const live = useMemo(() => (rows ? liveOver(model.entries, rows) : null), [rows]);
  const allCosts = useMemo(
    () => (rows ? COSTS.map((one) => ({ name: COST_TEXT[one].name, figures: figuresOf(model.entries, one, window, info.rows, model.rowIsSuppressed) })) : []),
    [rows, window],
  );
  const frameName = (frame: number) => (frame < 0 ? "all" : frame >= info.functions ? model.threadName(threads[frame - info.functions]) : calls.shortName(frame));
  const name = (of: number) => frameName(view.frame(of));
  const root = view.total(0);
  const describe = (of: number) => {
    const frame = view.frame(of);
    const isFunction = frame > 0 && frame < info.functions;
    const about = isFunction ? [calls.name(frame).slice(0, 1000), calls.file(frame)] : [frameName(frame)];
    const unit = isCount ? "blocks" : "bytes";
    about.push(`${isCount ? "" : bytes(view.total(of)) + ", "}${count(view.total(of))} ${unit}, ${percent(view.total(of), root)}`);
    return about.filter(Boolean).join("\n");
  };
  const color = (of: number) => {
    const frame = view.frame(of);
    return frame < 0 || frame >= info.functions ? "#c3c9d0" : frameColor(calls.shortName(frame), calls.file(frame));
  };
  const choose = (frame: number) => update({ chosen: frame > 0 && frame < info.functions ? `functions-${frame}` : "" });
  const saveSvg = () => {
    const title = `${info.name}: ${COST_TEXT[cost].name}, ${count(root)} ${isCount ? "blocks" : "bytes"}`;
    download(`${info.name}.${cost}.svg`, "image/svg+xml", [flameSvg(view, zoomed, { title, isDiff: false, isInverted: state.invert === "1", name, color, describe })]);
  };
  const chosenTitle = chosen === null ? "" : chosen.kind === "functions" ? calls.name(chosen.number)
    : calls.name(calls.frameFunction[chosen.kind === "stacks" ? sites[chosen.number] : chosen.number]);

  return (
    <div class="page">
      <header>
        <h1><bdi>{info.name}</bdi></h1>
        <span class="dim command"><bdi>{info.command.join(" ").slice(0, 300)}</bdi></span>
        <ServedLinks />
        <ThemeSwitch />
        <TraceTotals model={model} />
        <Notes model={model} />
      </header>
      <Timeline model={model} window={window} chosen={live} onChange={setWindow} />
      <WindowText model={model} window={window} cost={cost} figures={figures} onReset={() => setWindow({ from: 0, to: info.bins })} />
      <FineWindow model={model} window={window} />
      <div class="filters" role="search" aria-label="View">
        <label>Show{" "}
          <select value={cost} onChange={(event) => update({ cost: event.currentTarget.value })}>
            {COSTS.filter((one) => one !== "temporary" || !info.totals.sample_period).map((one) => <option value={one}>{COST_TEXT[one].name}</option>)}
          </select>
        </label>
        <label>in{" "}
          <select value={isCount ? "blocks" : "bytes"} onChange={(event) => update({ unit: event.currentTarget.value })}>
            <option value="bytes">bytes</option>
            <option value="blocks">blocks</option>
          </select>
        </label>
        <FlameControls
          state={state} update={update} leaves="allocations" found={search ? total1(found) : null}
          isZoomed={zoomed !== 0} onReset={() => zoom(0)} onSave={saveSvg}
        >
          <label><input type="checkbox" checked={state.by === "thread"} onChange={() => update({ by: state.by === "thread" ? "" : "thread" })} /> by thread</label>
        </FlameControls>
      </div>
      <main class={"with-detail" + (info.has_sources ? " with-sources" : "")}>
        <div class="scroll">
          {root > 0 ? (
            <FlameView
              view={view} node={zoomed} isDiff={false} isInverted={state.invert === "1"} name={name} describe={describe} color={color}
              label={`Flame graph of ${info.name}: ${COST_TEXT[cost].name}; the table has the same figures`}
              hasSearch={search !== null} isFound={(of) => view.frame(of) > 0 && found[view.frame(of)] === 1}
              onZoom={zoom} onChoose={(of) => choose(view.frame(of))}
            />
          ) : <p class="dim empty">Nothing in this window: {COST_TEXT[cost].about}.</p>}
        </div>
        <div class="tables">
          <div class="tabs" role="tablist" aria-label="Table">
            {(["sites", "functions", "stacks"] as const).map((one) => (
              <button role="tab" aria-selected={table === one} onClick={() => update({ table: one })}>{one === "sites" ? "Sites" : one === "functions" ? "Functions" : "Stacks"}</button>
            ))}
            <span class="dim">{count(lines.length)}{search ? ` of ${count(sums.length)}` : ""}</span>
          </div>
          <TopTable
            key={table} title={table === "functions" ? "Function" : table === "stacks" ? "Stack" : "Site"}
            sums={lines} columns={columns} sort={state.sort} onSort={(sort) => update({ sort })}
            chosen={chosen?.kind === table ? chosen.number : null} onChoose={(number) => update({ chosen: `${table}-${number}` })}
            name={lineName} place={(number) => [calls.name(table === "functions" ? number : calls.frameFunction[frameOf(number)]).slice(0, 1000), linePlace(number)].filter(Boolean).join("\n")}
            after={(number) => <After model={model} place={linePlace(number)} frame={table === "functions" ? 0 : frameOf(number)} />}
          />
        </div>
        {rows
          ? <Detail model={model} title={chosenTitle} rows={rows} costs={allCosts} figures={figures} onClose={() => update({ chosen: "" })} />
          : <aside class="detail dim" aria-label="Details">Choose a function in the graph or a line of the table: its figures and stacks are shown here, and its live bytes in the timeline.</aside>}
      </main>
      <div class="charts">
        <AddressBox model={model} />
        <Addresses model={model} />
        <Markers model={model} window={window} onWindow={setWindow} />
        <Threads model={model} figures={figures} costName={COST_TEXT[cost].name} />
        <Sizes model={model} window={window} />
        <Lifetimes model={model} window={window} />
      </div>
    </div>
  );
}

function total1(list: Uint8Array): number {
  let sum = 0;
  for (const one of list) sum += one;
  return sum;
}

/** The place of a site, and its source line if the page has it. */
function After({ model, place, frame }: { model: HeapModel; place: string; frame: number }) {
  const source = frame > 0 ? model.sourceOf(frame) : null;
  const slash = place.lastIndexOf("/");
  return (
    <>
      <bdi class="dim place">{place.slice(slash + 1).slice(0, 200)}</bdi>
      {source && <code class="source-line">{source.lines[model.calls.frameLine[frame] - source.first]?.trim().slice(0, 200)}</code>}
    </>
  );
}

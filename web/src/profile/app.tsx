// The page of a profile: flame graph, and the functions beside it.
import { useEffect, useMemo, useState } from "preact/hooks";
import { BottomUp, CallView, FrameSum, sumFrames, TopDown } from "../common/calls";
import { download } from "../common/download";
import { frameColor, growthColor } from "../common/flame_colors";
import { FlameControls } from "../common/flame_controls";
import { flameSvg } from "../common/flame_svg";
import { FlameView } from "../common/flame_view";
import { amount, count, counted, percent } from "../common/format";
import { pattern } from "../common/search";
import { ServedLinks } from "../common/served_links";
import { ThemeSwitch } from "../common/theme";
import { Column, TopTable } from "../common/top_table";
import { readState, writeState } from "../common/url_state";
import { ProfileModel } from "./model";

interface State {
  type: string;
  view: string;
  search: string;
  sort: string;
  invert: string;
}

const DEFAULTS: State = { type: "", view: "top-down", search: "", sort: "self", invert: "" };

export function App({ model }: { model: ProfileModel }) {
  const { info } = model;
  const [state, setState] = useState<State>(() => ({ ...DEFAULTS, ...readState() }));
  const update = (some: Partial<State>) => setState((old) => ({ ...old, ...some }));
  useEffect(() => writeState({ ...state }, { ...DEFAULTS }), [state]);
  useEffect(() => {
    const onHash = () => setState({ ...DEFAULTS, ...readState() });
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  const named = info.types.findIndex((one) => one.name === state.type);
  const type = named >= 0 ? named : info.default_type;
  const { unit } = info.types[type];
  const [node, setNode] = useState(0);
  const [chosen, setChosen] = useState<number | null>(null);

  const calls = useMemo(() => model.calls(type), [type]);
  const view: CallView = useMemo(() => (state.view === "bottom-up" ? new BottomUp(calls) : new TopDown(calls)), [calls, state.view]);
  useEffect(() => setNode(0), [view]);
  const sums = useMemo(() => sumFrames(calls, info.frames), [calls]);
  const search = pattern(state.search);
  const found = useMemo(() => {
    const set = new Set<number>();
    if (search) for (let frame = 0; frame < info.frames; frame++) if (search.test(model.functionName(frame)) || search.test(model.file(frame))) set.add(frame);
    return set;
  }, [state.search]);
  const isShown = (sum: FrameSum) =>
    (!search || found.has(sum.frame)) && (!model.isDiff || sum.self !== sum.selfBefore || sum.total !== sum.totalBefore);
  const shownSums = sums.filter(isShown);

  const last = info.sides[info.sides.length - 1];
  const whole = last.values[type];
  const name = (of: number) => model.functionName(view.frame(of));
  const current = view.total(node) === undefined ? 0 : node;
  const describe = (of: number) => {
    const frame = view.frame(of);
    const lines = [model.functionName(frame), [model.file(frame), model.binary(frame)].filter(Boolean).join(" in ")].filter(Boolean);
    const total = view.total(of);
    lines.push(`${amount(total, unit)}, ${percent(total, whole)}; itself ${amount(view.self(of), unit)}`);
    if (model.isDiff) lines.push(`before ${amount(view.totalBefore(of), unit)}: ${total >= view.totalBefore(of) ? "+" : ""}${amount(total - view.totalBefore(of), unit)}`);
    return lines.join("\n");
  };
  const signed = (value: number) => (value > 0 ? "+" : "") + amount(value, unit);
  const tone = (value: number) => (value > 0 ? "grown" : value < 0 ? "shrunk" : "");
  const columns: Column[] = model.isDiff
    ? [
        { key: "self", title: "self", value: (sum) => sum.self - sum.selfBefore, text: (sum) => signed(sum.self - sum.selfBefore), class: (sum) => tone(sum.self - sum.selfBefore) },
        { key: "total", title: "total", value: (sum) => sum.total - sum.totalBefore, text: (sum) => signed(sum.total - sum.totalBefore), class: (sum) => tone(sum.total - sum.totalBefore) },
      ]
    : [
        { key: "self", title: "self", value: (sum) => sum.self, text: (sum) => amount(sum.self, unit) },
        { key: "total", title: "total", value: (sum) => sum.total, text: (sum) => amount(sum.total, unit) },
      ];

  const color = (of: number) =>
    model.isDiff ? growthColor(view.total(of), view.totalBefore(of)) : view.frame(of) < 0 ? "#c3c9d0" : frameColor(name(of), model.binary(view.frame(of)));
  const saveSvg = () => {
    const title = `${info.name}: ${info.types[type].name}, ${model.isDiff ? signed(whole - view.totalBefore(0)) : amount(whole, unit)}`;
    download(`${info.name}.svg`, "image/svg+xml", [flameSvg(view, current, { title, isDiff: model.isDiff, isInverted: state.invert === "1", name, color, describe })]);
  };

  return (
    <div class="page">
      <header>
        <h1>{info.before_name !== undefined && <><bdi>{info.before_name}</bdi> → </>}<bdi>{info.name}</bdi></h1>
        <Totals model={model} type={type} sums={sums} />
        <ServedLinks />
        <ThemeSwitch />
      </header>
      <div class="filters" role="search" aria-label="View">
        {info.types.length > 1 && (
          <label>Value{" "}
            <select value={info.types[type].name} onChange={(event) => update({ type: event.currentTarget.value })}>
              {info.types.map((one) => <option value={one.name}>{one.name}{one.unit ? ` (${one.unit})` : ""}</option>)}
            </select>
          </label>
        )}
        <FlameControls
          state={state} update={update} leaves="functions" found={search ? found.size : null}
          isZoomed={current !== 0} onReset={() => setNode(0)} onSave={saveSvg}
        />
      </div>
      <main>
        <div class="scroll">
          <FlameView
            view={view} node={current} isDiff={model.isDiff} isInverted={state.invert === "1"} name={name} describe={describe}
            label={`Flame graph of ${info.name}; the table has the functions`}
            color={color}
            hasSearch={search !== null} isFound={(of) => found.has(view.frame(of))}
            onZoom={setNode} onChoose={(of) => setChosen(view.frame(of))}
          />
        </div>
        <TopTable
          sums={shownSums} columns={columns} sort={state.sort} onSort={(sort) => update({ sort })} chosen={chosen} onChoose={setChosen}
          name={(frame) => model.functionName(frame)} place={(frame) => [model.functionName(frame), model.file(frame), model.binary(frame)].filter(Boolean).join("\n")}
        />
      </main>
    </div>
  );
}

function Totals({ model, type, sums }: { model: ProfileModel; type: number; sums: FrameSum[] }) {
  const { info } = model;
  const added = sums.filter((sum) => sum.totalBefore === 0).length;
  const removed = sums.filter((sum) => sum.total === 0).length;
  const changed = sums.filter((sum) => sum.self !== sum.selfBefore || sum.total !== sum.totalBefore).length - added - removed;
  const { name, unit } = info.types[type];
  const last = info.sides[info.sides.length - 1];
  const change = last.values[type] - info.sides[0].values[type];
  return (
    <p id="totals">
      {model.isDiff ? (
        <><b class={change > 0 ? "grown" : change < 0 ? "shrunk" : ""}>{(change > 0 ? "+" : "") + count(change)} {unit}</b> of {name}: {count(info.sides[0].values[type])} before, {count(last.values[type])} after; <b>{counted(added, "function")} added</b>, <b>{count(removed)} removed</b>, {count(changed)} changed <span class="dim">(orange grew, blue shrank; a bar is as wide as the larger side)</span></>
      ) : (
        <><b>{count(last.values[type])} {unit}</b> of {name} in {count(last.samples)} samples</>
      )}
      {last.unnamed > 0 && <span class="dim">; {count(last.unnamed)} frames have no name: 'sextant symbolize' adds them</span>}
    </p>
  );
}

// The page: what the file is, and its views.
import { useEffect, useState } from "preact/hooks";
import { ServedLinks } from "../common/served_links";
import { ThemeSwitch } from "../common/theme";
import { BuildView, MetricsView } from "./about_views";
import { Help } from "./help";
import { InlinedModel } from "./inlined";
import { SizeModel } from "./model";
import { SmallFound } from "./small_found";
import { SizesView } from "./sizes_view";
import { loadState, saveState, State, View, VIEWS } from "./state";
import { Totals } from "./totals";

export interface Loaded {
  names: boolean;
  inlined: InlinedModel | null;
}

interface Props {
  model: SizeModel;
  /** Loads what the first picture does not need, and says when it is there. */
  load(): Promise<Loaded>;
}

export function App({ model, load }: Props) {
  const { info } = model;
  const [state, setState] = useState<State>(() => loadState(info));
  const [loaded, setLoaded] = useState<Loaded>({ names: false, inlined: null });
  const [isHelp, setHelp] = useState(false);
  const update = (some: Partial<State>) =>
    setState((old) => {
      const next = { ...old, ...some };
      // Going to another place can be taken back.
      saveState(next, info, "focus" in some || "view" in some);
      return next;
    });

  useEffect(() => {
    // The first picture is painted before the names are unpacked.
    requestAnimationFrame(() => setTimeout(() => void load().then(setLoaded)));
    const onHash = () => setState(loadState(info));
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") document.getElementById("search")?.focus();
      else if (event.key === "?") setHelp(true);
      else return;
      event.preventDefault();
    };
    addEventListener("hashchange", onHash);
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("hashchange", onHash);
      removeEventListener("keydown", onKey);
    };
  }, []);

  return (
    <div class="page">
      <header>
        <h1 title={info.name}><Title model={model} /></h1>
        <Totals model={model} />
        <span class="tools">
          <ServedLinks />
          <ThemeSwitch />
          <button onClick={() => setHelp(true)} aria-label="Keys">?</button>
        </span>
        <SmallFound model={model} search={state.search} />
      </header>
      <div class="tabs" role="tablist" aria-label="Views">
        {(Object.keys(VIEWS) as View[]).map((view) => (
          <button
            role="tab" id={"tab-" + view} aria-selected={state.view === view} tabIndex={state.view === view ? 0 : -1}
            onClick={() => update({ view })} onKeyDown={(event) => moveTab(event, view, update)}
          >
            {VIEWS[view]}
          </button>
        ))}
      </div>
      {state.view === "sizes" && <SizesView model={model} loaded={loaded} state={state} update={update} />}
      {state.view === "metrics" && <MetricsView model={model} unit={state.byteunit} />}
      {state.view === "build" && <BuildView model={model} />}
      {isHelp && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

function Title({ model }: { model: SizeModel }) {
  const { name, before_name } = model.info;
  if (!before_name) return <bdi>{name}</bdi>;
  return <><bdi>{before_name}</bdi> → <bdi>{name}</bdi></>;
}

function moveTab(event: KeyboardEvent, view: View, update: (some: Partial<State>) => void): void {
  const views = Object.keys(VIEWS) as View[];
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? views.length - 1 : 0;
  if (step === 0) return;
  const next = views[(views.indexOf(view) + step) % views.length];
  update({ view: next });
  document.getElementById("tab-" + next)!.focus();
}

// The page of symbols: the table of functions, what is known of one, and answers about addresses.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../common/format";
import { askJson } from "../common/served";
import { readState, writeState } from "../common/url_state";
import { AddressForm, Addresses } from "./addresses";
import { FunctionCard } from "./card";
import { FunctionsTable } from "./functions_table";
import { Head } from "./head";
import { PageInfo, Rows } from "./model";
import { patternProblem } from "./pattern";
import { RowCache } from "./row_cache";
import { DEFAULTS, State, stateOf, tableQuery } from "./state";
import { Tabs } from "./tabs";

const SEARCH_DELAY = 100;
/** After this time without an answer, the page says that it waits. */
const SLOW = 600;

export function App({ page }: { page: PageInfo }) {
  const [state, setState] = useState<State>(() => stateOf(readState()));
  const update = (some: Partial<State>) => setState((old) => ({ ...old, ...some }));
  useEffect(() => writeState({ ...state }, { ...DEFAULTS }), [state]);
  useEffect(() => {
    const onHash = () => setState(stateOf(readState()));
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  const { cache, problem, isSlow } = useRows(state);
  const search = useRef<HTMLInputElement>(null);
  const addresses = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const field = event.key === "/" ? search.current : event.key === "a" ? addresses.current : null;
      if (!field) return;
      field.focus();
      field.select();
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const chosen = state.function === "" ? null : Number(state.function);
  const what = page.info.format === "ksym" ? "symbol" : page.info.format === "returnpads" ? "return pad" : "function";

  return (
    <div class="page">
      <Head page={page} />
      <div class="tools">
        <SearchForm state={state} field={search} onChange={update} found={cache} problem={problem} isSlow={isSlow} what={what} />
        <AddressForm text={state.at} field={addresses} onAsk={(at) => update({ at, tab: "addresses" })} />
      </div>
      <main>
        <FunctionsTable
          cache={cache} what={what} state={state} chosen={chosen !== null && chosen < page.total ? chosen : null}
          onChoose={(index) => update({ function: String(index), tab: "function" })}
          locate={async (index) => (await askJson<{ position: number | null }>("position", { ...tableQuery(state), index: String(index) }).catch(() => ({ position: null }))).position}
          onSort={(sort) => update({ sort, descending: state.sort === sort ? (state.descending ? "" : "1") : sort === "size" ? "1" : "" })}
        />
        <section class="panel" aria-label="Details">
          <Tabs
            label="Details" chosen={state.tab} onChoose={(tab) => update({ tab })} id="panel"
            tabs={[{ key: "function", title: what[0].toUpperCase() + what.slice(1) }, { key: "addresses", title: "Addresses" }]}
          />
          <div class="panel-body" role="tabpanel" id="panel-body" aria-labelledby={"panel-" + state.tab} tabIndex={0}>
            {state.tab === "addresses" ? (
              <Addresses text={state.at} isArchive={page.info.format !== "elf"} onShow={(index) => update({ function: String(index), tab: "function" })} />
            ) : chosen === null || chosen >= page.total ? (
              <Nothing page={page} what={what} />
            ) : (
              <FunctionCard
                page={page} index={chosen} part={state.part} onPart={(part) => update({ part })}
                onChoose={(index) => update({ function: String(index) })}
                onAsk={(at) => update({ at, tab: "addresses" })}
              />
            )}
          </div>
        </section>
      </main>
    </div>
  );
}

function Nothing({ page, what }: { page: PageInfo; what: string }) {
  if (page.total === 0) return <p class="dim">This file has no {what}s.</p>;
  return (
    <div class="dim">
      <p>Choose a {what} in the table to see its ranges, its lines and the calls that were inlined into it.</p>
      <p>Or give an address above to see what is there, and why.</p>
      <p><kbd>/</kbd> search <kbd>a</kbd> addresses <kbd>↑</kbd> <kbd>↓</kbd> move in the table</p>
    </div>
  );
}

/** The lines for what is searched. Those before are shown until the first new ones are there, so that nothing jumps. */
function useRows(state: State): { cache: RowCache; problem: string; isSlow: boolean } {
  const [, redraw] = useState(0);
  const [problem, setProblem] = useState("");
  const query = tableQuery(state);
  const key = JSON.stringify(query);
  const make = () =>
    new RowCache(
      (from, number) => askJson<Rows>("functions", { ...query, from: String(from), count: String(number) }),
      () => redraw((old) => old + 1),
      (error) => setProblem(error.message),
    );
  const wanted = useMemo(make, [key]);
  const [shown, setShown] = useState(wanted);
  const isFirst = useRef(true);
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    let isStale = false;
    const slow = setTimeout(() => setSlow(true), SLOW);
    const delay = isFirst.current ? 0 : SEARCH_DELAY;
    isFirst.current = false;
    const timer = setTimeout(async () => {
      const wrong = state.regex && state.search ? patternProblem(state.search) : "";
      setProblem(wrong);
      if (!wrong) await wanted.want(0, 1);
      if (isStale) return;
      clearTimeout(slow);
      setSlow(false);
      if (wanted.isFilled) setShown(wanted);
    }, delay);
    return () => {
      isStale = true;
      clearTimeout(timer);
      clearTimeout(slow);
    };
  }, [wanted]);
  return { cache: shown, problem, isSlow };
}

interface SearchProps {
  state: State;
  field: { current: HTMLInputElement | null };
  found: RowCache;
  problem: string;
  isSlow: boolean;
  what: string;
  onChange(some: Partial<State>): void;
}

function SearchForm({ state, field, found, problem, isSlow, what, onChange }: SearchProps) {
  return (
    <form class="search" role="search" aria-label="Search" onSubmit={(event) => event.preventDefault()}>
      <label class="grow"><span class="hidden-label">Search names</span>
        <input
          type="search" ref={field} placeholder={`Search ${what}s   /`} value={state.search} maxLength={1000} spellcheck={false} autocomplete="off"
          aria-invalid={problem !== ""} aria-describedby="search-found"
          onInput={(event) => onChange({ search: event.currentTarget.value })}
        />
      </label>
      <label title="POSIX extended regular expression"><input type="checkbox" checked={state.regex === "1"} onChange={() => onChange({ regex: state.regex ? "" : "1" })} /> regular expression</label>
      <label><input type="checkbox" checked={state.case === "1"} onChange={() => onChange({ case: state.case ? "" : "1" })} /> match case</label>
      <output id="search-found" class={problem ? "error" : ""} role="status">
        {problem || (isSlow ? "Searching…" : found.isFilled ? (state.search ? `${count(found.found)} of ${count(found.total)} ${what}s found` : `${count(found.total)} ${what}s`) : "")}
      </output>
    </form>
  );
}

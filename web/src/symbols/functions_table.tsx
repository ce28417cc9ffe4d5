// The functions. Only the visible lines exist, and they are fetched when they are needed.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "../common/format";
import { usePrinting } from "../common/printing";
import { Row } from "./model";
import { firstVisible, fullHeight, LINE, scrollFor, visibleLines } from "./places";
import { RowCache } from "./row_cache";
import { State } from "./state";
import { baseName, highlights, shownName } from "./words";

interface Props {
  cache: RowCache;
  what: string;
  state: State;
  chosen: number | null;
  onChoose(index: number): void;
  /** The place of a function in the table; null if it is not there. */
  locate(index: number): Promise<number | null>;
  onSort(sort: State["sort"]): void;
}

const PRINTED = 100;

export function FunctionsTable(props: Props) {
  const { cache, state } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const [cursor, setCursor] = useState(0);
  const isPrinting = usePrinting();
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(Math.max(LINE, box.current!.clientHeight - LINE)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    setCursor(0);
    box.current!.scrollTop = 0;
  }, [cache]);

  const lines = cache.found;
  const place = visibleLines(top, height, lines);
  const first = isPrinting ? 0 : place.first;
  const last = isPrinting ? Math.min(lines, PRINTED) : place.last;
  useEffect(() => void cache.want(first, last), [cache, first, last]);

  // What was chosen elsewhere is scrolled to. What was chosen here is visible.
  const own = useRef<number | null>(null);
  useEffect(() => {
    if (props.chosen === null || props.chosen === own.current || !cache.isFilled) return;
    let isStale = false;
    own.current = props.chosen;
    void props.locate(props.chosen).then((at) => {
      if (isStale || at === null) return;
      setCursor(at);
      box.current!.scrollTop = scrollFor(Math.max(0, at - height / LINE / 2), height, lines);
    });
    return () => { isStale = true; };
  }, [props.chosen, cache, cache.isFilled]);
  const choose = (index: number) => {
    own.current = index;
    props.onChoose(index);
  };

  const move = (to: number) => {
    const at = Math.max(0, Math.min(lines - 1, to));
    const element = box.current!;
    const shown = firstVisible(element.scrollTop, height, lines);
    setCursor(at);
    if (at < shown) element.scrollTop = scrollFor(at, height, lines);
    else if (at + 1 > shown + height / LINE) element.scrollTop = scrollFor(at + 1 - height / LINE, height, lines);
    void cache.want(at, at + 1).then(() => {
      const row = cache.row(at);
      if (row) choose(row.index);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const pageSize = Math.max(1, Math.floor(height / LINE) - 1);
    const steps: Record<string, number> = {
      ArrowDown: cursor + 1, ArrowUp: cursor - 1, PageDown: cursor + pageSize, PageUp: cursor - pageSize, Home: 0, End: lines - 1, Enter: cursor,
    };
    if (event.target !== box.current || !(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey || lines === 0) return;
    move(steps[event.key]);
    event.preventDefault();
  };
  const isKsym = props.what === "symbol";
  const visible = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  return (
    <div
      class={"functions" + (isKsym ? " with-type" : "")} role="grid" aria-label={props.what + "s"} aria-rowcount={lines + 1} tabIndex={0} ref={box}
      onScroll={() => setTop(box.current!.scrollTop)} onKeyDown={onKeyDown}
      aria-activedescendant={cursor >= first && cursor < last ? "row-" + cursor : undefined}
    >
      <div class="line head" role="row" aria-rowindex={1}>
        <Sort {...props} sort="address" title="Address" isNumber />
        <Sort {...props} sort="size" title="Bytes" isNumber />
        {isKsym ? <span class="kind" role="columnheader">Type</span> : <span class="inlines number" role="columnheader" title="Calls that were inlined into it">Inlined</span>}
        <Sort {...props} sort="name" title="Name" />
      </div>
      <div class="space" role="presentation" style={{ height: `${isPrinting ? last * LINE : fullHeight(lines)}px` }}>
        {visible.map((at) => {
          const row = cache.row(at);
          const isChosen = row !== undefined && row.index === props.chosen;
          return (
            <div
              key={at} id={"row-" + at} role="row" aria-rowindex={at + 2} aria-selected={isChosen}
              class={"line" + (isChosen ? " chosen" : "") + (at === cursor ? " cursor" : "")}
              style={{ top: `${(isPrinting ? 0 : place.y) + (at - first) * LINE}px` }}
              onClick={() => { setCursor(at); if (row) choose(row.index); }}
            >
              <span class="address number mono" role="gridcell">{row?.address ?? "…"}</span>
              <span class="size number" role="gridcell">{row && count(row.size)}</span>
              {isKsym ? <span class="kind mono" role="gridcell">{row?.type}</span> : <span class="inlines number dim" role="gridcell">{row?.inlines ? count(row.inlines) : ""}</span>}
              <span class="name" role="gridcell" title={row && tip(row)}>{row && <Name row={row} state={state} />}</span>
            </div>
          );
        })}
      </div>
      {lines === 0 && cache.isFilled && <p class="empty dim">{cache.total === 0 ? `This file has no ${props.what}s.` : `No ${props.what} has such a name.`}</p>}
      {isPrinting && lines > last && <p>and {count(lines - last)} more</p>}
    </div>
  );
}

function Sort({ state, sort, title, isNumber, onSort }: Props & { sort: State["sort"]; title: string; isNumber?: boolean }) {
  const isSorted = state.sort === sort;
  const order = !isSorted ? "none" : state.descending ? "descending" : "ascending";
  return (
    <span class={sort + (isNumber ? " number" : "")} role="columnheader" aria-sort={order}>
      <button onClick={() => onSort(sort)}>
        {isNumber && <Arrow order={order} />}{title}{!isNumber && <Arrow order={order} />}
      </button>
    </span>
  );
}

function Arrow({ order }: { order: string }) {
  return <span aria-hidden="true" class="arrow">{order === "none" ? "" : order === "descending" ? "▾" : "▴"}</span>;
}

function tip(row: Row): string {
  const source = row.file ? row.file + (row.line ? `:${row.line}` : "") : "";
  return [row.name + (row.name_size ? "…" : ""), row.linkage_name ?? "", ...(row.aliases ?? []).map((alias) => "also " + alias), source].filter(Boolean).join("\n");
}

/** The name, with what was found in it marked; otherwise the other name that it was found by. */
function Name({ row, state }: { row: Row; state: State }) {
  const search = state.regex ? "" : state.search;
  const parts = highlights(shownName(row.name), search, state.case === "1");
  const others = [...(row.aliases ?? []), ...(row.linkage_name ? [row.linkage_name] : [])];
  const other = search && parts.length === 1 ? others.find((name) => highlights(name, search, state.case === "1").length > 1) : row.aliases?.[0];
  return (
    <>
      <bdi><Marked parts={parts} />{row.name_size ? "…" : ""}</bdi>
      {other && <span class="dim also"> also <bdi><Marked parts={highlights(other, search, state.case === "1")} /></bdi></span>}
      {row.file && <span class="dim source"><bdi>{baseName(row.file)}</bdi>{row.line ? `:${row.line}` : ""}</span>}
    </>
  );
}

function Marked({ parts }: { parts: string[] }) {
  return <>{parts.map((part, i) => (i % 2 === 1 ? <mark>{part}</mark> : part))}</>;
}

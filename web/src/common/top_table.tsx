// Functions, or other things with numbers, by what they take. Only the visible lines exist.
import { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { FrameSum } from "./calls";
import { compareTexts, SortButton, sortDirection } from "./sort";

export interface Column {
  key: string;
  title: string;
  value(sum: FrameSum): number;
  text(sum: FrameSum): string;
  class?(sum: FrameSum): string;
}

interface Props {
  sums: FrameSum[];
  columns: Column[];
  sort: string;
  name(frame: number): string;
  place(frame: number): string;
  /** What is shown after the name. */
  after?(frame: number): ComponentChildren;
  /** Of the names. */
  title?: string;
  onSort(key: string): void;
  chosen: number | null;
  onChoose(frame: number): void;
}

const LINE = 24;

export function TopTable(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const [cursor, setCursor] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current!.clientHeight));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const lines = useMemo(() => {
    const isReversed = props.sort.startsWith("-");
    const key = isReversed ? props.sort.slice(1) : props.sort;
    const column = props.columns.find((one) => one.key === key) ?? props.columns[0];
    const names = new Map(key === "name" ? props.sums.map((sum) => [sum, props.name(sum.frame).toLowerCase()]) : []);
    // The largest first, whatever its sign; in the other direction the smallest, and changes that shrank most.
    const compare = key === "name"
      ? (a: FrameSum, b: FrameSum) => (isReversed ? -1 : 1) * compareTexts(names.get(a)!, names.get(b)!)
      : isReversed ? (a: FrameSum, b: FrameSum) => column.value(a) - column.value(b)
      : (a: FrameSum, b: FrameSum) => Math.abs(column.value(b)) - Math.abs(column.value(a));
    return props.sums.slice().sort((a, b) => compare(a, b) || a.frame - b.frame);
  }, [props.sums, props.sort]);
  const move = (to: number) => {
    const at = Math.max(0, Math.min(lines.length - 1, to));
    setCursor(at);
    if (lines[at]) props.onChoose(lines[at].frame);
    const element = box.current!;
    if (at * LINE < element.scrollTop) element.scrollTop = at * LINE;
    else if ((at + 2) * LINE > element.scrollTop + height) element.scrollTop = (at + 2) * LINE - height;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / LINE) - 2);
    const steps: Record<string, number> = {
      ArrowDown: cursor + 1, ArrowUp: cursor - 1, PageDown: cursor + page, PageUp: cursor - page, Home: 0, End: lines.length - 1,
    };
    if (!(event.key in steps)) return;
    move(steps[event.key]);
    event.preventDefault();
  };
  const first = Math.max(0, Math.floor(top / LINE) - 5);
  const last = Math.min(lines.length, first + Math.ceil(height / LINE) + 10);
  return (
    <div
      class="top-table" role="grid" aria-label={(props.title ?? "Function") + "s"} aria-rowcount={lines.length + 1} tabIndex={0} ref={box}
      onScroll={() => setTop(box.current!.scrollTop)} onKeyDown={onKeyDown}
      aria-activedescendant={lines[cursor] ? "function-" + cursor : undefined}
    >
      <div class="line head" role="row" aria-rowindex={1}>
        {props.columns.map((column) => (
          <span class="number" role="columnheader" aria-sort={sortDirection(props.sort, column.key, false)}>
            <SortButton title={column.title} column={column.key} sort={props.sort} onSort={props.onSort} />
          </span>
        ))}
        <span class="name" role="columnheader" aria-sort={sortDirection(props.sort, "name", true)}>
          <SortButton title={props.title ?? "Function"} column="name" sort={props.sort} isText onSort={props.onSort} />
        </span>
      </div>
      <div class="space" role="presentation" style={{ height: `${lines.length * LINE}px` }}>
        {lines.slice(first, last).map((sum, i) => (
          <div
            key={sum.frame} id={"function-" + (first + i)} role="row" aria-rowindex={first + i + 2} aria-selected={props.chosen === sum.frame}
            class={"line" + (props.chosen === sum.frame ? " chosen" : "")} style={{ top: `${(first + i) * LINE}px` }}
            onClick={() => { setCursor(first + i); props.onChoose(sum.frame); }}
          >
            {props.columns.map((column) => (
              <span class={"number " + (column.class?.(sum) ?? "")} role="gridcell">{column.text(sum)}</span>
            ))}
            <span class="name" role="gridcell" title={props.place(sum.frame)}><bdi>{props.name(sum.frame).slice(0, 1000)}</bdi>{props.after?.(sum.frame)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

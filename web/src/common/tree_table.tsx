// A tree as a table of which only the visible lines exist. Arrow keys move, open and close; letters go to the next line
// that begins with them.
import { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { firstOpen, listLines } from "./lines";
import { usePrinting } from "./printing";
import { compareTexts, SortButton, sortDirection } from "./sort";
import { Tree } from "./tree";

export interface TreeTableProps {
  tree: Tree;
  group: number;
  version: number;
  label: string;
  /** A column with a value can be sorted by. */
  columns: { title: string; width: string; cell(item: number): ComponentChildren; class?: string; key?: string; value?(item: number): number }[];
  /** See sort.tsx; empty: the heaviest first. */
  sort: string;
  onSort(sort: string): void;
  name(item: number): string;
  /** Something short before the name, and something after it. */
  mark?(item: number): ComponentChildren;
  detail?(item: number): string;
  chosen: number | null;
  onChoose(item: number): void;
  onZoom(group: number): void;
}

const LINE = 24;
const PRINTED = 100;
const MOST_LETTERS = 1000;

export function TreeTable(props: TreeTableProps) {
  const { tree, group } = props;
  const [open, setOpen] = useState<Set<number>>(() => firstOpen(tree, group));
  const [cursor, setCursor] = useState(0);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const isPrinting = usePrinting();
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    setOpen(firstOpen(tree, group));
    setCursor(0);
    box.current!.scrollTop = 0;
  }, [tree, group]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current!.clientHeight));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const lines = useMemo(() => listLines(tree, group, open, orderOf(props)), [tree, props.version, group, open, props.sort]);

  const toggle = (item: number) => {
    const next = new Set(open);
    if (!next.delete(item)) next.add(item);
    setOpen(next);
  };
  const move = (to: number) => {
    const at = Math.max(0, Math.min(lines.count - 1, to));
    setCursor(at);
    const element = box.current!;
    if (at * LINE < element.scrollTop) element.scrollTop = at * LINE;
    else if ((at + 1) * LINE > element.scrollTop + height - LINE) element.scrollTop = (at + 2) * LINE - height;
    if (at < lines.count) props.onChoose(lines.item[at]);
  };
  const toLetter = (letter: string) => {
    for (let i = 1; i <= Math.min(lines.count, 10_000); i++) {
      const at = (cursor + i) % lines.count;
      if (props.name(lines.item[at]).slice(0, 1).toLowerCase() === letter) return move(at);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLButtonElement) return;
    if (cursor >= lines.count || event.ctrlKey || event.metaKey || event.altKey) return;
    const item = lines.item[cursor];
    const depth = lines.depth[cursor];
    const page = Math.max(1, Math.floor(height / LINE) - 2);
    const isOpen = item >= 0 && open.has(item);
    switch (event.key) {
      case "ArrowDown": move(cursor + 1); break;
      case "ArrowUp": move(cursor - 1); break;
      case "PageDown": move(cursor + page); break;
      case "PageUp": move(cursor - page); break;
      case "Home": move(0); break;
      case "End": move(lines.count - 1); break;
      case "ArrowRight":
        if (item >= 0 && !isOpen) toggle(item);
        else move(cursor + 1);
        break;
      case "ArrowLeft":
        if (isOpen) toggle(item);
        else for (let i = cursor - 1; i >= 0; i--) if (lines.depth[i] < depth) { move(i); break; }
        break;
      case "Enter":
        if (item >= 0) props.onZoom(item);
        else props.onChoose(item);
        break;
      case " ":
        if (item >= 0) toggle(item);
        break;
      case "Escape":
        if (group === 0) return;
        props.onZoom(tree.parents[group]);
        break;
      case "*": {
        const next = new Set(open);
        for (let i = 0; i < lines.count; i++) if (lines.depth[i] === depth && lines.item[i] >= 0) next.add(lines.item[i]);
        setOpen(next);
        break;
      }
      default:
        if (event.key.length !== 1 || event.key === "/" || event.key === "?") return;
        toLetter(event.key.toLowerCase());
    }
    event.preventDefault();
  };

  const first = isPrinting ? 0 : Math.max(0, Math.floor(top / LINE) - 5);
  const last = Math.min(lines.count, isPrinting ? PRINTED : first + Math.ceil(height / LINE) + 10);
  const visible = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  return (
    <div
      class="tree-table"
      role="treegrid"
      aria-label={props.label}
      aria-rowcount={lines.count + 1}
      tabIndex={0}
      ref={box}
      onScroll={() => setTop(box.current!.scrollTop)}
      onKeyDown={onKeyDown}
      aria-activedescendant={cursor >= first && cursor < last ? "line-" + cursor : undefined}
    >
      <div class="line head" role="row" aria-rowindex={1}>
        <span class="name" role="columnheader" aria-sort={sortDirection(props.sort, "name", true)}>
          <SortButton title="Name" column="name" sort={props.sort} isText onSort={props.onSort} />
        </span>
        {props.columns.map((column) => (
          <span class="number" role="columnheader" style={{ width: column.width }} aria-sort={sortDirection(props.sort || "size", column.key ?? "", false)}>
            {column.key ? <SortButton title={column.title} column={column.key} sort={props.sort || "size"} onSort={props.onSort} /> : column.title}
          </span>
        ))}
      </div>
      <div class="space" role="presentation" style={{ height: `${(isPrinting ? last : lines.count) * LINE}px` }}>
        {visible.map((at) => {
          const item = lines.item[at];
          const isGroup = item >= 0;
          const isOpen = isGroup && open.has(item);
          const name = props.name(item).slice(0, MOST_LETTERS);
          return (
            <div
              key={item}
              id={"line-" + at}
              class={"line" + (props.chosen === item ? " chosen" : "") + (at === cursor ? " cursor" : "")}
              style={{ top: `${at * LINE}px` }}
              role="row"
              aria-level={lines.depth[at] + 1}
              aria-rowindex={at + 2}
              aria-posinset={lines.index[at] + 1}
              aria-setsize={lines.of[at]}
              aria-expanded={isGroup ? isOpen : undefined}
              aria-selected={props.chosen === item}
              onClick={() => { setCursor(at); props.onChoose(item); }}
              onDblClick={() => isGroup && props.onZoom(item)}
            >
              <span class="name" role="gridcell" style={{ paddingLeft: `${Math.min(lines.depth[at], 20) * 14 + 4}px` }} title={name}>
                <span
                  class={"arrow" + (isGroup ? "" : " leaf")}
                  aria-hidden="true"
                  onClick={(event) => { if (isGroup) { event.stopPropagation(); setCursor(at); toggle(item); } }}
                >
                  {isGroup ? (isOpen ? "▾" : "▸") : ""}
                </span>
                {props.mark?.(item)}
                <bdi>{name}</bdi>
                {props.detail && <span class="dim detail"><bdi>{props.detail(item).slice(0, MOST_LETTERS)}</bdi></span>}
              </span>
              {props.columns.map((column) => (
                <span class={"number " + (column.class ?? "")} role="gridcell" style={{ width: column.width }}>{column.cell(item)}</span>
              ))}
            </div>
          );
        })}
      </div>
      {isPrinting && lines.count > last && <p>and {lines.count - last} more</p>}
    </div>
  );
}

/** Sorts items as the user chose; undefined for the order that they have, the heaviest first. */
function orderOf({ sort, columns, name }: TreeTableProps): ((items: Int32Array) => Int32Array) | undefined {
  const isReversed = sort.startsWith("-");
  const key = isReversed ? sort.slice(1) : sort;
  if (key === "name")
    return (items) => {
      const names = new Map<number, string>();
      for (const item of items) names.set(item, name(item).toLowerCase());
      const sorted = items.slice().sort((a, b) => compareTexts(names.get(a)!, names.get(b)!));
      return isReversed ? sorted.reverse() : sorted;
    };
  const value = columns.find((column) => column.key === key)?.value;
  if (!value) return undefined;
  // What is equal stays in the order of the weights.
  return (items) => items.slice().sort((a, b) => (isReversed ? value(a) - value(b) : value(b) - value(a)));
}

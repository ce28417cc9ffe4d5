// A tree as a table of which only the visible lines exist. Arrow keys move, open and close.
import { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Tree } from "./tree";

export interface TreeTableProps {
  tree: Tree;
  group: number;
  version: number;
  label: string;
  columns: { title: string; width: string; cell(item: number): ComponentChildren; class?: string }[];
  name(item: number): string;
  chosen: number | null;
  onChoose(item: number): void;
  onZoom(group: number): void;
}

const LINE = 24;

interface Line {
  item: number;
  depth: number;
  index: number;
  of: number;
}

export function TreeTable(props: TreeTableProps) {
  const { tree, group } = props;
  const [open, setOpen] = useState<Set<number>>(() => new Set());
  const [cursor, setCursor] = useState(0);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => setOpen(new Set()), [tree]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current!.clientHeight));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const lines = useMemo(() => {
    const list: Line[] = [];
    const add = (inside: number, depth: number) => {
      const items = [...tree.groupsIn(inside), ...Array.from(tree.rowsIn(inside), (row) => -1 - row)];
      items.sort((a, b) => weight(tree, b) - weight(tree, a));
      items.forEach((item, index) => {
        list.push({ item, depth, index, of: items.length });
        if (item >= 0 && open.has(item)) add(item, depth + 1);
      });
    };
    add(group, 0);
    return list;
  }, [tree, props.version, group, open]);

  const toggle = (item: number) => {
    const next = new Set(open);
    if (!next.delete(item)) next.add(item);
    setOpen(next);
  };
  const move = (to: number) => {
    const at = Math.max(0, Math.min(lines.length - 1, to));
    setCursor(at);
    const element = box.current!;
    if (at * LINE < element.scrollTop) element.scrollTop = at * LINE;
    else if ((at + 1) * LINE > element.scrollTop + height - LINE) element.scrollTop = (at + 2) * LINE - height;
    if (lines[at]) props.onChoose(lines[at].item);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const line = lines[cursor];
    if (!line) return;
    const page = Math.max(1, Math.floor(height / LINE) - 2);
    const isOpen = line.item >= 0 && open.has(line.item);
    switch (event.key) {
      case "ArrowDown": move(cursor + 1); break;
      case "ArrowUp": move(cursor - 1); break;
      case "PageDown": move(cursor + page); break;
      case "PageUp": move(cursor - page); break;
      case "Home": move(0); break;
      case "End": move(lines.length - 1); break;
      case "ArrowRight":
        if (line.item >= 0 && !isOpen) toggle(line.item);
        else move(cursor + 1);
        break;
      case "ArrowLeft":
        if (isOpen) toggle(line.item);
        else for (let i = cursor - 1; i >= 0; i--) if (lines[i].depth < line.depth) { move(i); break; }
        break;
      case "Enter":
        if (line.item >= 0) props.onZoom(line.item);
        break;
      case " ":
        if (line.item >= 0) toggle(line.item);
        break;
      case "*":
        setOpen(new Set([...open, ...lines.filter((other) => other.depth === line.depth && other.item >= 0).map((other) => other.item)]));
        break;
      default:
        return;
    }
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(top / LINE) - 5);
  const last = Math.min(lines.length, first + Math.ceil(height / LINE) + 10);
  return (
    <div
      class="tree-table"
      role="treegrid"
      aria-label={props.label}
      aria-rowcount={lines.length + 1}
      tabIndex={0}
      ref={box}
      onScroll={() => setTop(box.current!.scrollTop)}
      onKeyDown={onKeyDown}
      aria-activedescendant={lines[cursor] ? "line-" + cursor : undefined}
    >
      <div class="line head" role="row" aria-rowindex={1}>
        <span class="name" role="columnheader">Name</span>
        {props.columns.map((column) => (
          <span class="number" role="columnheader" style={{ width: column.width }}>{column.title}</span>
        ))}
      </div>
      <div class="space" role="presentation" style={{ height: `${lines.length * LINE}px` }}>
        {lines.slice(first, last).map((line, i) => {
          const at = first + i;
          const isGroup = line.item >= 0;
          return (
            <div
              key={line.item}
              id={"line-" + at}
              class={"line" + (props.chosen === line.item ? " chosen" : "") + (at === cursor ? " cursor" : "")}
              style={{ top: `${at * LINE}px` }}
              role="row"
              aria-level={line.depth + 1}
              aria-rowindex={at + 2}
              aria-posinset={line.index + 1}
              aria-setsize={line.of}
              aria-expanded={isGroup ? open.has(line.item) : undefined}
              aria-selected={props.chosen === line.item}
              onClick={() => { setCursor(at); props.onChoose(line.item); }}
              onDblClick={() => isGroup && props.onZoom(line.item)}
            >
              <span class="name" role="gridcell" style={{ paddingLeft: `${line.depth * 16 + 4}px` }} title={props.name(line.item)}>
                <span
                  class={"arrow" + (isGroup ? "" : " leaf")}
                  aria-hidden="true"
                  onClick={(event) => { if (isGroup) { event.stopPropagation(); setCursor(at); toggle(line.item); } }}
                >
                  {isGroup ? (open.has(line.item) ? "▾" : "▸") : "·"}
                </span>
                <bdi>{props.name(line.item).slice(0, 1000)}</bdi>
              </span>
              {props.columns.map((column) => (
                <span class={"number " + (column.class ?? "")} role="gridcell" style={{ width: column.width }}>{column.cell(line.item)}</span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function weight(tree: Tree, item: number): number {
  return item >= 0 ? tree.weights[item] : Math.abs(tree.rowValues[-1 - item]);
}

// A treemap on a canvas, with the mouse and the keyboard: arrow keys move between cells, Enter zooms in, Escape goes up.
// What is chosen is described as text, and everything can also be reached through the tree table.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "./format";
import { Tree } from "./tree";
import { Rectangles, countRest, hit, layTreemap, neighbour } from "./treemap";
import { Look, Palette, drawTreemap } from "./treemap_draw";

export interface TreemapProps {
  tree: Tree;
  group: number;
  /** Changes when the values of the tree do. */
  version: number;
  /** Changes when colours or names do. */
  look: number;
  label: string;
  name(item: number): string;
  color(row: number): string;
  describe(item: number): string;
  /** Rows that a search found; null if there is no search. */
  found: Uint8Array | null;
  chosen: number | null;
  onZoom(group: number): void;
  onChoose(item: number): void;
}

const STEPS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function TreemapView(props: TreemapProps) {
  const { tree, group, found } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<[number, number]>([0, 0]);
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const dark = useTheme();

  useEffect(() => {
    const observer = new ResizeObserver(() => setSize([box.current!.clientWidth, box.current!.clientHeight]));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const rectangles = useMemo(() => layTreemap(tree, group, size[0], size[1]), [tree, props.version, group, size[0], size[1]]);
  const foundIn = useMemo(() => (found ? tree.countIn(found) : null), [tree, props.version, found]);

  useEffect(() => {
    if (size[0] > 0) draw(canvas.current!, rectangles, size, { ...props, foundIn });
  }, [rectangles, foundIn, props.chosen, props.look, dark, size]);

  const describe = (index: number): string => {
    const rest = rectangles.rests.get(index);
    const text = props.describe(rectangles.item[index]);
    return rest === undefined ? text : `${count(countRest(tree, rest))} symbols too small to be drawn, in\n${text}`;
  };
  const at = (event: MouseEvent): number => {
    const bounds = canvas.current!.getBoundingClientRect();
    return hit(rectangles, event.clientX - bounds.left, event.clientY - bounds.top);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const current = rectangles.item.subarray(0, rectangles.count).indexOf(props.chosen ?? -Infinity);
    const step = STEPS[event.key];
    if (step) {
      const next = current < 0 ? firstCell(rectangles) : neighbour(rectangles, current, ...step);
      if (next >= 0) props.onChoose(rectangles.item[next]);
    } else if (event.key === "Enter") {
      if (props.chosen !== null && tree.isIn(props.chosen, group)) props.onZoom(nextLevel(tree, group, props.chosen));
    } else if (event.key === "Escape" || event.key === "Backspace") {
      if (group !== 0) props.onZoom(tree.parents[group]);
    } else if (event.key === "Home") {
      const first = firstCell(rectangles);
      if (first >= 0) props.onChoose(rectangles.item[first]);
    } else return;
    event.preventDefault();
  };

  return (
    <div class="treemap" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="treemap"
        aria-label={props.label}
        onKeyDown={onKeyDown}
        onMouseMove={(event) => {
          const index = at(event);
          setTip(index < 0 ? null : { x: event.offsetX, y: event.offsetY, text: describe(index) });
        }}
        onMouseLeave={() => setTip(null)}
        onClick={(event) => {
          const index = at(event);
          if (index >= 0) props.onChoose(rectangles.item[index]);
        }}
        onDblClick={(event) => {
          const index = at(event);
          if (index >= 0) props.onZoom(rectangles.item[index] < 0 ? tree.groupOf(-1 - rectangles.item[index]) : rectangles.item[index]);
        }}
      />
      {rectangles.count === 0 && size[0] > 0 && <p class="nothing">Nothing to show: no symbol with a size passes the filters.</p>}
      {tip && (
        <div
          class="tip"
          ref={(element) => {
            if (!element) return;
            const { clientWidth, clientHeight } = element;
            element.style.left = Math.max(0, Math.min(tip.x + 12, size[0] - clientWidth - 4)) + "px";
            element.style.top = Math.max(0, tip.y + 14 + clientHeight > size[1] ? tip.y - clientHeight - 8 : tip.y + 14) + "px";
          }}
        >
          {tip.text}
        </div>
      )}
    </div>
  );
}

function firstCell(rectangles: Rectangles): number {
  for (let i = 0; i < rectangles.count; i++) if (!rectangles.hasHeader[i]) return i;
  return -1;
}

/** The group below GROUP that an item is in, or GROUP itself. */
function nextLevel(tree: Tree, group: number, item: number): number {
  const path = tree.path(item >= 0 ? item : tree.groupOf(-1 - item));
  return path[group === 0 ? 0 : path.indexOf(group) + 1] ?? group;
}

/** Changes when the colours of the page do. */
function useTheme(): number {
  const [number, setNumber] = useState(0);
  useEffect(() => {
    const change = () => setNumber((old) => old + 1);
    const queries = [matchMedia("(prefers-color-scheme: dark)"), matchMedia("print")];
    const observer = new MutationObserver(change);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    for (const query of queries) query.addEventListener("change", change);
    return () => {
      observer.disconnect();
      for (const query of queries) query.removeEventListener("change", change);
    };
  }, []);
  return number;
}

function draw(canvas: HTMLCanvasElement, rectangles: Rectangles, [width, height]: [number, number], look: Look): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d", { alpha: false })!;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const variable = (name: string) => style.getPropertyValue(name).trim();
  const palette: Palette = {
    text: variable("--text"), dim: variable("--dim"), panel: variable("--panel"), back: variable("--back"), accent: variable("--accent"),
  };
  context.fillStyle = palette.back;
  context.fillRect(0, 0, width, height);
  drawTreemap(context, rectangles, look, palette);
}

// A treemap on a canvas. Everything in it can also be reached through the tree table, which screen readers use.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Tree } from "./tree";
import { Rectangles, hit, layTreemap } from "./treemap";

export interface TreemapProps {
  tree: Tree;
  group: number;
  /** Changes when the values of the tree do. */
  version: number;
  label: string;
  name(item: number): string;
  color(item: number): string;
  describe(item: number): string;
  /** Rows that a search found; null if there is no search. */
  found: Uint8Array | null;
  onZoom(group: number): void;
  onChoose(item: number): void;
}

export function TreemapView(props: TreemapProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<[number, number]>([0, 0]);
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);

  useEffect(() => {
    const observer = new ResizeObserver(() => setSize([box.current!.clientWidth, box.current!.clientHeight]));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const rectangles = useMemo(
    () => layTreemap(props.tree, props.group, size[0], size[1]),
    [props.tree, props.version, props.group, size[0], size[1]],
  );

  useEffect(() => {
    if (size[0] > 0) draw(canvas.current!, rectangles, size, props);
  });

  const at = (event: MouseEvent) => {
    const bounds = canvas.current!.getBoundingClientRect();
    const index = hit(rectangles, event.clientX - bounds.left, event.clientY - bounds.top);
    return index < 0 ? null : rectangles.item[index];
  };

  return (
    <div class="treemap" ref={box}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        onMouseMove={(event) => {
          const item = at(event);
          setTip(item === null ? null : { x: event.offsetX, y: event.offsetY, text: props.describe(item) });
        }}
        onMouseLeave={() => setTip(null)}
        onClick={(event) => {
          const item = at(event);
          if (item !== null) props.onChoose(item);
        }}
        onDblClick={(event) => {
          const item = at(event);
          if (item !== null) props.onZoom(item < 0 ? props.tree.groupOf(-1 - item) : item);
        }}
      />
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

function draw(canvas: HTMLCanvasElement, rectangles: Rectangles, [width, height]: [number, number], props: TreemapProps): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const text = style.getPropertyValue("--text");
  const panel = style.getPropertyValue("--panel");
  const line = style.getPropertyValue("--back");
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  for (let i = 0; i < rectangles.count; i++) {
    const item = rectangles.item[i];
    const x = rectangles.x[i];
    const y = rectangles.y[i];
    const w = rectangles.width[i];
    const h = rectangles.height[i];
    const isRow = item < 0;
    const isDim = props.found !== null && isRow && props.found[-1 - item] === 0;
    context.fillStyle = rectangles.hasHeader[i] ? panel : props.color(item);
    context.globalAlpha = isDim ? 0.15 : 1;
    context.fillRect(x, y, w, h);
    if (w > 3 && h > 3) {
      context.strokeStyle = line;
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    }
    context.globalAlpha = isDim ? 0.4 : 1;
    if (rectangles.hasHeader[i]) write(context, props.name(item), x + 4, y + 8, w - 8, text);
    else if (isRow && w > 34 && h > 13) write(context, props.name(item), x + 3, y + 8, w - 6, "#101418");
    context.globalAlpha = 1;
  }
}

/** As much of a text as fits. */
function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number, color: string): void {
  context.fillStyle = color;
  const shown = text.length > 200 ? text.slice(0, 200) : text;
  if (context.measureText(shown).width <= room) {
    context.fillText(shown, x, y);
    return;
  }
  let low = 0;
  let high = shown.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(shown.slice(0, middle) + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  if (low > 1) context.fillText(shown.slice(0, low) + "…", x, y);
}

// A flame graph on a canvas, with keys: arrows move, Enter zooms, Escape goes up.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CallView } from "./calls";
import { Bars, layFlame } from "./flame";

export interface FlameProps {
  view: CallView;
  node: number;
  label: string;
  isDiff: boolean;
  /** The root is at the bottom. */
  isInverted: boolean;
  name(node: number): string;
  color(node: number): string;
  describe(node: number): string;
  isFound(node: number): boolean;
  hasSearch: boolean;
  onZoom(node: number): void;
  onChoose(node: number): void;
}

const LEVEL = 18;

export function FlameView(props: FlameProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [cursor, setCursor] = useState<number | null>(null);
  const [tip, setTip] = useState<{ x: number; y: number; node: number } | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current!.clientWidth));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setCursor(null), [props.view, props.node]);
  const bars = useMemo(() => layFlame(props.view, props.node, width, props.isDiff), [props.view, props.node, width, props.isDiff]);
  const height = bars.levels * LEVEL;
  const top = (depth: number) => (props.isInverted ? height - (depth + 1) * LEVEL : depth * LEVEL);

  const drawAgain = useRef(() => {});
  drawAgain.current = () => {
    if (width > 0) draw(canvas.current!, bars, width, height, top, cursor, props);
  };
  useEffect(() => drawAgain.current());
  useEffect(() => {
    const scroller = box.current!.closest(".scroll");
    const onScroll = () => drawAgain.current();
    scroller?.addEventListener("scroll", onScroll);
    return () => scroller?.removeEventListener("scroll", onScroll);
  }, []);

  const barAt = (x: number, y: number) => {
    const depth = Math.floor((props.isInverted ? height - y : y) / LEVEL);
    for (let i = 0; i < bars.count; i++)
      if (bars.depth[i] === depth && x >= bars.x[i] && x < bars.x[i] + bars.width[i]) return i;
    return -1;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { view } = props;
    const at = cursor ?? props.node;
    const visible = (node: number | undefined) => node !== undefined && bars.node.includes(node);
    const siblings = at === 0 ? [] : view.children(view.parent(at)).filter(visible);
    const next: Record<string, number | undefined> = {
      ArrowDown: props.isInverted ? view.parent(at) : view.children(at)[0],
      ArrowUp: props.isInverted ? view.children(at)[0] : view.parent(at),
      ArrowRight: siblings[siblings.indexOf(at) + 1],
      ArrowLeft: siblings[siblings.indexOf(at) - 1],
      Home: 0,
    };
    if (event.key in next) {
      const to = next[event.key];
      if (visible(to)) {
        setCursor(to!);
        props.onChoose(to!);
      }
    } else if (event.key === "Enter") props.onZoom(at);
    else if (event.key === "Escape") props.onZoom(view.parent(props.node));
    else return;
    event.preventDefault();
  };

  return (
    <div class="flame" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={props.label}
        aria-roledescription="flame graph"
        onKeyDown={onKeyDown}
        onMouseMove={(event) => {
          const i = barAt(event.offsetX, event.offsetY);
          setTip(i < 0 ? null : { x: event.offsetX, y: event.offsetY, node: bars.node[i] });
        }}
        onMouseLeave={() => setTip(null)}
        onClick={(event) => {
          const i = barAt(event.offsetX, event.offsetY);
          if (i >= 0) {
            setCursor(bars.node[i]);
            props.onChoose(bars.node[i]);
            props.onZoom(bars.node[i]);
          }
        }}
      />
      <output class="hidden-label">{cursor === null ? "" : props.describe(cursor)}</output>
      {tip && (
        <div
          class="tip"
          ref={(element) => {
            if (!element) return;
            element.style.left = Math.max(0, Math.min(tip.x + 12, width - element.clientWidth - 4)) + "px";
            element.style.top = tip.y + 16 + "px";
          }}
        >
          {props.describe(tip.node)}
        </div>
      )}
    </div>
  );
}

/** The beginning of a name that fits. Measuring takes long, so it is done once or twice. */
function fit(context: CanvasRenderingContext2D, name: string, room: number, letter: number): string {
  const text = name.slice(0, Math.ceil((3 * room) / letter));
  const width = context.measureText(text).width;
  if (text.length === name.length && width <= room) return text;
  let size = Math.floor((text.length * (room - letter)) / width);
  while (size > 1 && context.measureText(text.slice(0, size) + "…").width > room) size = Math.floor(size * 0.9);
  return size > 1 ? text.slice(0, size) + "…" : "";
}

function draw(
  canvas: HTMLCanvasElement, bars: Bars, width: number, height: number, top: (depth: number) => number, cursor: number | null,
  props: FlameProps,
): void {
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d")!;
  if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const scroller = canvas.closest(".scroll");
  const [first, last] = scroller ? [scroller.scrollTop - LEVEL, scroller.scrollTop + scroller.clientHeight] : [0, height];
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  const style = getComputedStyle(canvas);
  const [accent, dim] = [style.getPropertyValue("--accent"), style.getPropertyValue("--dim")];
  const letter = context.measureText("n").width;
  for (let i = 0; i < bars.count; i++) {
    const node = bars.node[i];
    const x = bars.x[i];
    const y = top(bars.depth[i]);
    if (y < first || y > last) continue;
    const w = Math.max(bars.width[i] - 0.5, 0.5);
    const isFaded = props.hasSearch && !props.isFound(node);
    context.globalAlpha = isFaded ? 0.2 : 1;
    context.fillStyle = props.color(node);
    context.fillRect(x, y, w, LEVEL - 1);
    if (node === cursor) {
      context.strokeStyle = accent;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, w - 2, LEVEL - 3);
    }
    context.globalAlpha = 1;
    if (w > 3 * letter) {
      context.fillStyle = isFaded ? dim : "#101418";
      context.fillText(fit(context, props.name(node), w - 6, letter), x + 3, y + LEVEL / 2);
    }
  }
}

// Live bytes over time, with markers and collections. A window of bins is chosen with the mouse, or with the keys on its
// two ends.
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, duration } from "../common/format";
import { HeapModel } from "./model";
import { drawTimeline, Scale } from "./timeline_draw";
import { Window } from "./windows";

interface Props {
  model: HeapModel;
  window: Window;
  /** Bytes by bin of what is chosen in the other views. */
  chosen: Float64Array | null;
  onChange(window: Window): void;
}

const HEIGHT = 170;

export function Timeline({ model, window, chosen, onChange }: Props) {
  const { bins, bin_width: width } = model.info;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [across, setAcross] = useState(0);
  const [hover, setHover] = useState<number | null>(null);
  const drag = useRef<{ kind: "new" | "from" | "to" | "move"; at: number; window: Window } | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(() => setAcross(box.current!.clientWidth));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const scale: Scale = { left: 64, right: Math.max(65, across - 12), top: 20, bottom: HEIGHT - 24, bins };
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const onChange = () => setTheme((old) => old + 1);
    const observer = new MutationObserver(onChange);
    observer.observe(document.documentElement, { attributes: true });
    media.addEventListener("change", onChange);
    return () => {
      observer.disconnect();
      media.removeEventListener("change", onChange);
    };
  }, []);
  useEffect(() => {
    if (across > 0) drawTimeline(canvas.current!, across, HEIGHT, scale, model, chosen);
  }, [across, chosen, theme]);

  const xOf = (bin: number) => scale.left + ((scale.right - scale.left) * bin) / bins;
  const edgeAt = (x: number) => Math.max(0, Math.min(bins, Math.round(((x - scale.left) / (scale.right - scale.left)) * bins)));
  const binAt = (x: number) => Math.max(0, Math.min(bins - 1, Math.floor(((x - scale.left) / (scale.right - scale.left)) * bins)));
  const isWhole = window.from === 0 && window.to === bins;

  const onPointerDown = (event: PointerEvent) => {
    const x = event.clientX - box.current!.getBoundingClientRect().left;
    const near = (bin: number) => Math.abs(x - xOf(bin)) < 6;
    const kind = near(window.from) ? "from" : near(window.to) ? "to" : event.shiftKey && !isWhole && x > xOf(window.from) && x < xOf(window.to) ? "move" : "new";
    drag.current = { kind, at: edgeAt(x), window };
    canvas.current!.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const x = event.clientX - box.current!.getBoundingClientRect().left;
    setHover(x >= scale.left && x <= scale.right ? binAt(x) : null);
    const dragged = drag.current;
    if (!dragged) return;
    const at = edgeAt(x);
    const old = dragged.window;
    if (dragged.kind === "from") onChange({ from: Math.min(at, old.to - 1), to: old.to });
    else if (dragged.kind === "to") onChange({ from: old.from, to: Math.max(at, old.from + 1) });
    else if (dragged.kind === "move") {
      const by = Math.max(-old.from, Math.min(bins - old.to, at - dragged.at));
      onChange({ from: old.from + by, to: old.to + by });
    } else if (at !== dragged.at) onChange({ from: Math.min(at, dragged.at), to: Math.max(at, dragged.at) });
  };
  const onKeyDown = (end: "from" | "to") => (event: KeyboardEvent) => {
    const step = event.shiftKey ? Math.max(1, Math.round(bins / 20)) : 1;
    const moves: Record<string, number> = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step, PageDown: -10 * step, PageUp: 10 * step, Home: -bins, End: bins };
    if (event.key === "Escape") onChange({ from: 0, to: bins });
    else if (event.key in moves) {
      const at = window[end] + moves[event.key];
      if (end === "from") onChange({ from: Math.max(0, Math.min(at, window.to - 1)), to: window.to });
      else onChange({ from: window.from, to: Math.min(bins, Math.max(at, window.from + 1)) });
    } else return;
    event.preventDefault();
  };
  const handle = (end: "from" | "to") => (
    <div
      class="handle" role="slider" tabIndex={0} aria-label={end === "from" ? "Beginning of the window" : "End of the window"}
      aria-valuemin={0} aria-valuemax={bins} aria-valuenow={window[end]} aria-valuetext={duration(window[end] * width * 1000)}
      style={{ left: `${xOf(window[end]) - 5}px` }} onKeyDown={onKeyDown(end)}
    />
  );
  return (
    <div class="timeline" ref={box}>
      <canvas
        ref={canvas} role="img" aria-label={`Live bytes over time: at most ${bytes(Number(model.info.totals.peak_bytes))}`}
        onPointerDown={onPointerDown} onPointerMove={onPointerMove} onPointerUp={() => (drag.current = null)}
        onPointerCancel={() => (drag.current = null)} onPointerLeave={() => setHover(null)} onDblClick={() => onChange({ from: 0, to: bins })}
      />
      <div class="outside" style={{ left: `${scale.left}px`, width: `${xOf(window.from) - scale.left}px` }} />
      <div class="outside" style={{ left: `${xOf(window.to)}px`, width: `${Math.max(0, scale.right - xOf(window.to))}px` }} />
      {across > 0 && handle("from")}
      {across > 0 && handle("to")}
      {hover !== null && <Hover model={model} bin={hover} x={xOf(hover + 0.5)} width={across} />}
    </div>
  );
}

function Hover({ model, bin, x, width }: { model: HeapModel; bin: number; x: number; width: number }) {
  const { bin_width, markers } = model.info;
  const { peakBytes } = model.entries;
  const from = bin * bin_width;
  const here = markers.filter((marker) => marker.time >= from && marker.time < from + bin_width);
  return (
    <div class="tip" style={{ left: `${Math.max(0, Math.min(x + 10, width - 250))}px`, top: "22px" }}>
      {`${duration(from * 1000)} to ${duration((from + bin_width) * 1000)}\nat most ${bytes(peakBytes[bin])} live`}
      {model.collections[bin] > 0 && `\n${model.collections[bin]} collections of ${bytes(model.collectedBytes[bin])}`}
      {here.slice(0, 5).map((marker) => `\nmarker ${marker.name.slice(0, 100)}`)}
      {here.length > 5 && `\nand ${here.length - 5} more markers`}
    </div>
  );
}

// Live bytes from the start of the recording up to now.
import { useEffect, useRef, useState } from "preact/hooks";
import { drawAxes } from "../common/axes";
import { bytes, duration } from "../common/format";
import { Figures, spread } from "./model";

const HEIGHT = 190;
const [LEFT, RIGHT, TOP, BOTTOM] = [72, 14, 12, 24];

function draw(canvas: HTMLCanvasElement, width: number, figures: Figures): void {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name);
  const [right, bottom] = [Math.max(LEFT + 1, width - RIGHT), HEIGHT - BOTTOM];
  const end = Math.max(1, figures.time_us - figures.start_us, figures.course.times.at(-1) ?? 0);
  const most = Math.max(1, figures.peak_bytes, figures.live_bytes);
  const { y } = drawAxes(context, { left: LEFT, right, top: TOP, bottom }, most, end, color);
  const columns = Math.max(1, Math.floor(right - LEFT));
  const values = spread([...figures.course.times, end], [...figures.course.live_bytes, figures.live_bytes], end, columns);
  const line = () => {
    for (let i = 0; i < columns; i++) context.lineTo(LEFT + i, y(values[i]));
  };
  context.beginPath();
  context.moveTo(LEFT, bottom);
  line();
  context.lineTo(LEFT + columns - 1, bottom);
  context.closePath();
  context.globalAlpha = 0.25;
  context.fillStyle = color("--accent");
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = color("--accent");
  context.lineWidth = 1.3;
  context.beginPath();
  line();
  context.stroke();
}

export function Course({ figures }: { figures: Figures }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const sizes = new ResizeObserver(() => setWidth(box.current!.clientWidth));
    const media = matchMedia("(prefers-color-scheme: dark)");
    const onTheme = () => setTheme((old) => old + 1);
    const themes = new MutationObserver(onTheme);
    sizes.observe(box.current!);
    themes.observe(document.documentElement, { attributes: true });
    media.addEventListener("change", onTheme);
    return () => {
      sizes.disconnect();
      themes.disconnect();
      media.removeEventListener("change", onTheme);
    };
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, figures);
  }, [width, theme, figures]);
  const label = `Live bytes over ${duration((figures.time_us - figures.start_us) * 1000)}: ${bytes(figures.live_bytes)} now, ${bytes(figures.peak_bytes)} at the peak`;
  return (
    <div class="course" ref={box}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}

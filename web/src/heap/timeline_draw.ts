// Draws the timeline: the most bytes that were live in each point, markers, and collections.
import { Box, drawAxes } from "../common/axes";
import { HeapModel } from "./model";

export interface Scale extends Box {
  bins: number;
}

export function drawTimeline(
  canvas: HTMLCanvasElement, width: number, height: number, scale: Scale, model: HeapModel, chosen: Float64Array | null,
): void {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name);
  const { info, timeline } = model;
  const { left, right, bottom, bins } = scale;
  const end = bins * info.bin_width;
  const most = Math.max(1, Number(info.totals.peak_bytes));
  const { x, y } = drawAxes(context, scale, most, end, color);

  // The highest value of each column of pixels.
  const points = timeline.peak.length;
  const area = (values: (column: number) => number) => {
    context.beginPath();
    context.moveTo(left, bottom);
    for (let px = left; px <= right; px++) context.lineTo(px, y(values(px)));
    context.lineTo(right, bottom);
    context.closePath();
  };
  const highest = (px: number) => {
    const time = (from: number) => ((from - left) / (right - left)) * end;
    const first = Math.max(0, Math.floor(time(px) / info.point_width));
    const last = Math.min(points - 1, Math.floor(time(px + 1) / info.point_width));
    let value = 0;
    for (let i = first; i <= Math.max(first, last) && i < points; i++) value = Math.max(value, timeline.peak[i]);
    return value;
  };
  const accent = color("--accent");
  area(highest);
  context.globalAlpha = 0.25;
  context.fillStyle = accent;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = accent;
  context.lineWidth = 1.2;
  context.beginPath();
  for (let px = left; px <= right; px++) context.lineTo(px, y(highest(px)));
  context.stroke();

  if (chosen) {
    area((px) => chosen[Math.min(bins - 1, Math.max(0, Math.floor(((px - left) / (right - left)) * bins)))]);
    context.globalAlpha = 0.75;
    context.fillStyle = "#e69f00";
    context.fill();
    context.globalAlpha = 1;
  }
  drawEvents(context, scale, model, x, color);
}

function drawEvents(context: CanvasRenderingContext2D, scale: Scale, model: HeapModel, x: (time: number) => number, color: (name: string) => string): void {
  const { info, collections } = model;
  const { top, bottom } = scale;
  context.fillStyle = "#cc79a7";
  for (let bin = 0; bin < info.bins; bin++) if (collections[bin] > 0) context.fillRect(x((bin + 0.5) * info.bin_width) - 1, bottom - 6, 2, 6);
  context.strokeStyle = color("--dim");
  context.fillStyle = color("--text");
  context.textAlign = "left";
  context.textBaseline = "bottom";
  context.setLineDash([3, 3]);
  let free = -Infinity;
  let last = -Infinity;
  for (const marker of info.markers) {
    const at = Math.round(x(marker.time)) + 0.5;
    if (at === last) continue;
    last = at;
    context.beginPath();
    context.moveTo(at, top - 4);
    context.lineTo(at, bottom);
    context.stroke();
    const text = marker.name.length > 24 ? marker.name.slice(0, 23) + "…" : marker.name;
    const width = context.measureText(text).width;
    const from = Math.min(at, scale.right - width);
    if (from < free) continue;
    context.fillText(text, from, top - 4);
    free = from + width + 10;
  }
  context.setLineDash([]);
  // The peak.
  const peak = x(Number(info.totals.peak_time));
  context.fillStyle = color("--grown");
  context.beginPath();
  context.arc(peak, top, 3.5, 0, 2 * Math.PI);
  context.fill();
}

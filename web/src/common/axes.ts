// The axes of bytes over time: round numbers of bytes at the left, round times below.
import { bytes, duration } from "./format";

/** Where the values are drawn. */
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A step of 1, 2 or 5 times a power of ten, of which about COUNT fit. */
export function niceStep(span: number, count: number): number {
  const rough = Math.max(span / count, 1e-9);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough)!;
}

/** The same in powers of two, for bytes. */
export function byteStep(span: number, count: number): number {
  let step = 1;
  while (step * count < span) step *= 2;
  return step;
}

/** Draws the axes for 0 to MOST bytes and 0 to END microseconds. Returns where a time and a value are. */
export function drawAxes(
  context: CanvasRenderingContext2D, { left, right, top, bottom }: Box, most: number, end: number, color: (name: string) => string,
): { x: (time: number) => number; y: (value: number) => number } {
  const x = (time: number) => left + ((right - left) * time) / end;
  const y = (value: number) => bottom - ((bottom - top) * value) / most;
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.lineWidth = 1;
  context.strokeStyle = color("--line");
  context.fillStyle = color("--dim");
  context.textAlign = "right";
  context.textBaseline = "middle";
  const step = byteStep(most, 4);
  for (let value = 0; value <= most; value += step) {
    context.beginPath();
    context.moveTo(left, Math.round(y(value)) + 0.5);
    context.lineTo(right, Math.round(y(value)) + 0.5);
    context.stroke();
    context.fillText(bytes(value), left - 6, y(value));
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  const tick = niceStep(end, Math.max(2, (right - left) / 110));
  for (let time = 0; time <= end; time += tick)
    if (x(time) < right - 20 || time === 0) context.fillText(time === 0 ? "0" : duration(time * 1000), x(time), bottom + 6);
  return { x, y };
}

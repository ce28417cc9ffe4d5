// Where the lines of a long table are. Browsers cannot scroll over more than some ten million pixels, so that a longer
// table is scrolled in larger steps.

export const LINE = 24;
const MOST_PIXELS = 16_000_000;

/** The height of all lines. */
export function fullHeight(count: number): number {
  return Math.min(count * LINE, MOST_PIXELS);
}

/** The first line that is visible, which may be a fraction. */
export function firstVisible(top: number, height: number, count: number): number {
  const pixels = count * LINE;
  if (pixels <= MOST_PIXELS) return Math.max(0, top / LINE);
  const range = Math.max(1, MOST_PIXELS - height);
  return (Math.min(Math.max(0, top), range) / range) * Math.max(0, count - height / LINE);
}

/** How far to scroll so that LINE is the first one. */
export function scrollFor(line: number, height: number, count: number): number {
  const pixels = count * LINE;
  if (pixels <= MOST_PIXELS) return line * LINE;
  return (line / Math.max(1, count - height / LINE)) * Math.max(1, MOST_PIXELS - height);
}

/** The lines to draw, some more than fit, and where the first of them is. */
export function visibleLines(top: number, height: number, count: number): { first: number; last: number; y: number } {
  const exact = firstVisible(top, height, count);
  const first = Math.max(0, Math.floor(exact) - 8);
  const last = Math.min(count, Math.ceil(exact + height / LINE) + 8);
  const isScaled = count * LINE > MOST_PIXELS;
  return { first, last, y: isScaled ? top - (exact - first) * LINE : first * LINE };
}

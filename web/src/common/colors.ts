// Colours as "#rrggbb", and what is computed with them.

/** The mean of colours. */
export function mixColors(colors: string[]): string {
  const sum = [0, 0, 0];
  for (const color of colors) {
    const number = parseInt(color.slice(1), 16);
    sum[0] += number >> 16;
    sum[1] += (number >> 8) & 255;
    sum[2] += number & 255;
  }
  return "#" + sum.map((part) => Math.round(part / Math.max(1, colors.length)).toString(16).padStart(2, "0")).join("");
}

/** A colour between two: SHARE 0 is the first, 1 the second. */
export function blend(first: string, second: string, share: number): string {
  const a = parseInt(first.slice(1), 16);
  const b = parseInt(second.slice(1), 16);
  const part = (shift: number) => Math.round(((a >> shift) & 255) * (1 - share) + ((b >> shift) & 255) * share);
  return "#" + [16, 8, 0].map((shift) => part(shift).toString(16).padStart(2, "0")).join("");
}

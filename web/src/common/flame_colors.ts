// Colours of flame graphs.

/** A colour by the binary and the function, the same in every view. */
export function frameColor(name: string, binary: string): string {
  let hash = 0;
  for (let i = 0; i < name.length && i < 40; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  let from = 0;
  for (let i = 0; i < binary.length; i++) from = (from * 33 + binary.charCodeAt(i)) | 0;
  return `hsl(${[28, 42, 200, 168, 12, 220][Math.abs(from) % 6] + (Math.abs(hash) % 16)} 72% ${64 + (Math.abs(hash >> 4) % 16)}%)`;
}

/** The other side of a comparison: orange grew, blue shrank. */
export function growthColor(now: number, before: number): string {
  if (now === before) return "#c3c9d0";
  const share = Math.min(1, before > 0 ? Math.abs(now - before) / before : 1);
  const light = 84 - 30 * Math.sqrt(share);
  return now > before ? `hsl(22 95% ${light}%)` : `hsl(203 80% ${light}%)`;
}

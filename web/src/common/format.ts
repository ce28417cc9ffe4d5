// Numbers as people read them.

const exact = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export type ByteUnit = "auto" | "B" | "KiB" | "MiB" | "GiB";
const UNITS: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** "1,234,567" */
export function count(value: number): string {
  return exact.format(Math.round(value) || 0);
}

/** "1 block", "1,234 blocks" */
export function counted(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

/** Bytes in a unit, with three digits where the unit is not bytes: "12.3 KiB". */
export function bytes(value: number, unit: ByteUnit = "auto"): string {
  const size = Math.abs(value);
  // What would be rounded to 1024 of a unit is 1 of the next.
  const fits = (unitSize: number) => size < 1023.5 * unitSize;
  const name = unit !== "auto" ? unit : size < 1024 ? "B" : fits(1024) ? "KiB" : fits(1024 ** 2) ? "MiB" : "GiB";
  if (name === "B") return count(value) + " B";
  const scaled = value / UNITS[name];
  const digits = Math.abs(scaled) < 9.995 ? 2 : Math.abs(scaled) < 99.95 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${name}`;
}

/** The same with a sign: "+12.3 KiB". */
export function change(value: number, unit: ByteUnit = "auto"): string {
  return (value > 0 ? "+" : "") + bytes(value, unit);
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? "" : ((100 * part) / whole).toFixed(1) + " %";
}

/** A value of a profile in its unit: bytes, a time, or a count. */
export function amount(value: number, unit: string): string {
  if (unit === "bytes") return bytes(value);
  const scale: Record<string, number> = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };
  return unit in scale ? duration(value * scale[unit]) : count(value);
}

/** "1.23 s" */
export function duration(nanoseconds: number): string {
  const size = Math.abs(nanoseconds);
  const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const scaled = nanoseconds / (unit as number);
  const digits = name === "ns" ? 0 : Math.abs(scaled) < 9.995 ? 2 : Math.abs(scaled) < 99.95 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${name}`;
}

// Colours of cells: from Okabe and Ito's set, which people with any kind of colour vision can tell apart.
import { blend } from "../common/colors";
import { SizeModel } from "./model";

const SECTIONS: [RegExp, string, string][] = [
  [/^\.text/, "#56b4e9", "code"],
  [/^\.rodata/, "#e69f00", "constants"],
  [/^\.data\.rel\.ro|^\.tdata\.rel/, "#cc79a7", "constants with addresses"],
  [/^\.data|^\.tdata/, "#009e73", "data"],
  [/^\.dex/, "#f0e442", "dex"],
  [/^\.pak/, "#d55e00", "resources"],
  [/^\.arsc/, "#b39ddb", "resource table"],
];
const OTHER = "#b8c0c8";

function kindOf(section: string): [RegExp, string, string] | undefined {
  return SECTIONS.find(([pattern]) => pattern.test(section));
}

export function sectionColor(section: string): string {
  return kindOf(section)?.[1] ?? OTHER;
}

/** A colour for a number of any size, the same for the same number. */
const WHEEL = ["#56b4e9", "#e69f00", "#cc79a7", "#009e73", "#f0e442", "#d55e00", "#b39ddb", "#9ccc65", "#80cbc4", "#ffab91"];
export function wheelColor(number: number): string {
  return WHEEL[number % WHEEL.length];
}

/** The place of each component by size, so that the largest have different colours. */
export function componentRanks(model: SizeModel): Uint32Array {
  const sums = new Float64Array(model.components.length);
  for (let row = 0; row < model.rows.count; row++) sums[model.rows.component[row]] += Math.abs(model.rows.pss[row]);
  const ranks = new Uint32Array(sums.length);
  Array.from(sums.keys()).sort((a, b) => sums[b] - sums[a]).forEach((component, rank) => (ranks[component] = rank));
  return ranks;
}

const GROWN = ["#fbd3bd", "#ee6a1f"];
const SHRUNK = ["#cfe3f5", "#3d97de"];

/** Growth is orange, shrinking is blue; the stronger the larger the share that changed. */
export function changeColor(change: number, before: number): string {
  if (change === 0) return OTHER;
  const share = Math.sqrt(Math.min(1, before > 0 ? Math.abs(change) / before : 1));
  const [weak, strong] = change > 0 ? GROWN : SHRUNK;
  return blend(weak, strong, share);
}

export interface LegendEntry {
  color: string;
  text: string;
}

/** What the colours mean. */
export function legend(model: SizeModel, by: "section" | "component" | "growth"): LegendEntry[] {
  if (by === "growth")
    return [
      { color: SHRUNK[1], text: "removed" }, { color: SHRUNK[0], text: "shrunk" }, { color: GROWN[0], text: "grown" },
      { color: GROWN[1], text: "added, or doubled" },
    ];
  if (by === "component") {
    const ranks = componentRanks(model);
    const largest = Array.from(ranks.keys()).sort((a, b) => ranks[a] - ranks[b]).slice(0, 6);
    return largest.map((component) => ({ color: wheelColor(ranks[component]), text: model.components[component] || "(no component)" }));
  }
  const kinds = new Map<string, string>();
  for (const { section, is_bss } of model.info.segments)
    if (!is_bss) kinds.set(sectionColor(section), kindOf(section)?.[2] ?? "other");
  return Array.from(kinds, ([color, text]) => ({ color, text }));
}

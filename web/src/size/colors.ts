// Colours of sections: from Okabe and Ito's set, which people with any kind of colour vision can tell apart.

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

export function sectionColor(section: string): string {
  return SECTIONS.find(([pattern]) => pattern.test(section))?.[1] ?? OTHER;
}

/** A colour for a number of any size, the same for the same number. */
const WHEEL = ["#56b4e9", "#e69f00", "#cc79a7", "#009e73", "#f0e442", "#d55e00", "#b39ddb", "#9ccc65", "#80cbc4", "#ffab91"];
export function wheelColor(number: number): string {
  return WHEEL[number % WHEEL.length];
}

/** Growth is orange, shrinking is blue; the stronger the larger the share that changed. */
export function changeColor(change: number, before: number): string {
  if (change === 0) return OTHER;
  const share = Math.min(1, before > 0 ? Math.abs(change) / before : 1);
  const light = 82 - 32 * Math.sqrt(share);
  return change > 0 ? `hsl(22 95% ${light}%)` : `hsl(203 80% ${light}%)`;
}

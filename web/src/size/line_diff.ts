// Two texts side by side: which lines are the same, which were removed and which were added.

export interface DiffLine {
  /** undefined: there is no line on this side. */
  before?: string;
  after?: string;
  kind: "same" | "changed" | "gap";
}

const MOST_CELLS = 16_000_000;

/** The text of a unified diff (diff -u), or null if it is something else. */
export function parseUnified(text: string): DiffLine[] | null {
  if (!/^@@ -/m.test(text)) return null;
  const lines: DiffLine[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) lines.push({ before: removed[i], after: added[i], kind: "changed" });
    removed = [];
    added = [];
  };
  let isInside = false;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (line.startsWith("@@ -")) {
      flush();
      lines.push({ before: line, after: line, kind: "gap" });
      isInside = true;
    } else if (!isInside || line.startsWith("\\")) continue;
    else if (line.startsWith("-")) removed.push(line.slice(1));
    else if (line.startsWith("+")) added.push(line.slice(1));
    else {
      flush();
      lines.push({ before: line.slice(1), after: line.slice(1), kind: "same" });
    }
  }
  flush();
  return lines;
}

/** Compares two texts line by line, by their longest common subsequence. */
export function compareLines(before: string, after: string): DiffLine[] {
  const split = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
  const first = split(before);
  const second = split(after);
  let start = 0;
  while (start < first.length && start < second.length && first[start] === second[start]) start++;
  let end = 0;
  while (end < first.length - start && end < second.length - start && first[first.length - 1 - end] === second[second.length - 1 - end]) end++;
  const same = (text: string): DiffLine => ({ before: text, after: text, kind: "same" });
  return [
    ...first.slice(0, start).map(same),
    ...compareMiddle(first.slice(start, first.length - end), second.slice(start, second.length - end)),
    ...first.slice(first.length - end).map(same),
  ];
}

function compareMiddle(first: string[], second: string[]): DiffLine[] {
  const width = second.length + 1;
  const isTooLarge = (first.length + 1) * width > MOST_CELLS;
  const longest = new Uint32Array(isTooLarge ? 0 : (first.length + 1) * width);
  if (!isTooLarge)
    for (let i = first.length - 1; i >= 0; i--)
      for (let k = second.length - 1; k >= 0; k--)
        longest[i * width + k] =
          first[i] === second[k] ? longest[(i + 1) * width + k + 1] + 1 : Math.max(longest[(i + 1) * width + k], longest[i * width + k + 1]);
  const lines: DiffLine[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let n = 0; n < Math.max(removed.length, added.length); n++) lines.push({ before: removed[n], after: added[n], kind: "changed" });
    removed = [];
    added = [];
  };
  let i = 0;
  let k = 0;
  while (i < first.length || k < second.length) {
    if (i < first.length && k < second.length && first[i] === second[k]) {
      flush();
      lines.push({ before: first[i++], after: second[k++], kind: "same" });
    } else if (k >= second.length || (i < first.length && (isTooLarge || longest[(i + 1) * width + k] >= longest[i * width + k + 1]))) removed.push(first[i++]);
    else added.push(second[k++]);
  }
  flush();
  return lines;
}

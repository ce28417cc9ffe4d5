// What is chosen: a function, the line that allocated, or a stack. "function-12", "site-3", "stack-7".
import { CallTable } from "./model";

export interface Chosen {
  kind: "functions" | "sites" | "stacks";
  number: number;
}

export function parseChosen(text: string): Chosen | null {
  const match = /^(functions|sites|stacks)-(\d+)$/.exec(text);
  return match ? { kind: match[1] as Chosen["kind"], number: Number(match[2]) } : null;
}

/** By row, whether it belongs to what is chosen. SITES has the allocating frame of each node. */
export function chosenRows({ kind, number }: Chosen, calls: CallTable, rowNode: Uint32Array, sites: Uint32Array): Uint8Array {
  if (kind === "stacks") return Uint8Array.from(rowNode, (node) => (node === number ? 1 : 0));
  if (kind === "sites") return Uint8Array.from(rowNode, (node) => (sites[node] === number ? 1 : 0));
  const has = new Uint8Array(calls.parent.length);
  for (let i = 1; i < has.length; i++) has[i] = has[calls.parent[i]] || calls.frameFunction[calls.frame[i]] === number ? 1 : 0;
  return Uint8Array.from(rowNode, (node) => has[node]);
}

// What is chosen: a function, the line that allocated, or a stack. "function-12", "site-3", "stack-7".
import { CallTable } from "./model";

export interface Chosen {
  kind: "functions" | "sites" | "stacks";
  number: number;
}

/** Null if TEXT names nothing that CALLS has. */
export function parseChosen(text: string, calls: CallTable): Chosen | null {
  const match = /^(functions|sites|stacks)-(\d+)$/.exec(text);
  if (!match) return null;
  const kind = match[1] as Chosen["kind"];
  const number = Number(match[2]);
  const counts = { functions: calls.functionName.length, sites: calls.frameFunction.length, stacks: calls.parent.length };
  return number > 0 && number < counts[kind] ? { kind, number } : null;
}

/** By row, whether it belongs to what is chosen. SITES has the allocating frame of each node. */
export function chosenRows({ kind, number }: Chosen, calls: CallTable, rowNode: Uint32Array, sites: Uint32Array): Uint8Array {
  if (kind === "stacks") return Uint8Array.from(rowNode, (node) => (node === number ? 1 : 0));
  if (kind === "sites") return Uint8Array.from(rowNode, (node) => (sites[node] === number ? 1 : 0));
  const has = new Uint8Array(calls.parent.length);
  for (let i = 1; i < has.length; i++) has[i] = has[calls.parent[i]] || calls.frameFunction[calls.frame[i]] === number ? 1 : 0;
  return Uint8Array.from(rowNode, (node) => has[node]);
}

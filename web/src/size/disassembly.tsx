// The stored disassembly of a symbol, in a window; of both sides beside each other in a diff.
import { useEffect, useRef } from "preact/hooks";
import { compareLines, DiffLine, parseUnified } from "./line_diff";

interface Props {
  name: string;
  before: string;
  after: string;
  isDiff: boolean;
  onClose(): void;
}

const MOST_LINES = 20_000;

export function Disassembly({ name, before, after, isDiff, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const lines = isDiff ? (parseUnified(after) ?? compareLines(before, after)) : null;
  return (
    <dialog ref={dialog} class="disassembly" aria-labelledby="disassembly-title" onClose={onClose}>
      <div class="dialog-head">
        <h2 id="disassembly-title"><bdi class="mono">{name.slice(0, 500)}</bdi></h2>
        <button onClick={() => dialog.current!.close()}>Close</button>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Disassembly">
        {lines ? <SideBySide lines={lines} /> : <pre class="mono">{after}</pre>}
      </div>
    </dialog>
  );
}

function SideBySide({ lines }: { lines: DiffLine[] }) {
  return (
    <table class="mono side-by-side">
      <thead><tr><th scope="col">before</th><th scope="col">after</th></tr></thead>
      <tbody>
        {lines.slice(0, MOST_LINES).map((line) =>
          line.kind === "gap" ? (
            <tr class="gap"><td colSpan={2}>{line.before}</td></tr>
          ) : (
            <tr class={line.kind}>
              <td class={line.kind === "changed" && line.before !== undefined ? "removed" : ""}>{line.before ?? ""}</td>
              <td class={line.kind === "changed" && line.after !== undefined ? "added" : ""}>{line.after ?? ""}</td>
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}

// The keys of the page, in a window.
import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["/", "go to the search box"],
  ["?", "show these keys"],
  ["Arrow keys", "treemap: go to the next cell; table: next line, open and close groups"],
  ["Enter", "zoom into the group, one level at a time"],
  ["Escape", "zoom out one level; close a menu"],
  ["Home, End, Page Up, Page Down", "table: go far"],
  ["A letter", "table: go to the next line that begins with it"],
  ["Space", "table: open or close a group"],
  ["*", "table: open all groups of the same level"],
  ["Alt + Left", "the browser's Back: where you zoomed from"],
];

export function Help({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={onClose}>
      <div class="dialog-head">
        <h2 id="help-title">Keys</h2>
        <button onClick={() => dialog.current!.close()}>Close</button>
      </div>
      <table class="keys">
        <tbody>{KEYS.map(([key, text]) => <tr><th scope="row"><kbd>{key}</kbd></th><td>{text}</td></tr>)}</tbody>
      </table>
      <p class="dim">The address of the page has everything that is chosen: copy it to share the view.</p>
    </dialog>
  );
}

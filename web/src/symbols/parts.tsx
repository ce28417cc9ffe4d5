// The lists of a function: its ranges, lines, inlined calls and return pads. They are fetched in parts.
import { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count } from "../common/format";
import { askJson } from "../common/served";
import { InlineItem, LineItem, PadItem, Part, RangeItem } from "./model";
import { baseName } from "./words";

const AT_ONCE = 200;

/** The first items, and a function that fetches more. */
function usePart<T>(name: string, index: number): { items: T[]; total: number | null; problem: string; more(): void } {
  const [list, setList] = useState<{ index: number; items: T[]; total: number | null }>({ index, items: [], total: null });
  const [problem, setProblem] = useState("");
  const load = async (from: number, before: T[], isStale: () => boolean) => {
    try {
      const part = await askJson<Part<T>>(name, { index: String(index), from: String(from), count: String(AT_ONCE) });
      if (!isStale()) setList({ index, items: [...before, ...part.items], total: part.total });
    } catch (error) {
      if (!isStale()) setProblem((error as Error).message);
    }
  };
  useEffect(() => {
    let stale = false;
    setProblem("");
    void load(0, [], () => stale);
    return () => { stale = true; };
  }, [name, index]);
  return { ...list, problem, more: () => void load(list.items.length, list.items, () => false) };
}

interface ListProps<T> {
  list: ReturnType<typeof usePart<T>>;
  caption: string;
  empty: string;
  head: ComponentChildren;
  row(item: T, at: number): ComponentChildren;
}

function List<T>({ list, caption, empty, head, row }: ListProps<T>) {
  if (list.problem) return <p class="error" role="alert">{list.problem}</p>;
  if (list.total === null) return null;
  if (list.total === 0) return <p class="dim">{empty}</p>;
  return (
    <>
      <table class="list">
        <caption>{caption}: {count(list.total)}{list.items.length < list.total ? `, the first ${count(list.items.length)} are shown` : ""}</caption>
        <thead><tr>{head}</tr></thead>
        <tbody>{list.items.map(row)}</tbody>
      </table>
      {list.items.length < list.total && <button class="more" onClick={list.more}>Show {count(Math.min(AT_ONCE, list.total - list.items.length))} more</button>}
    </>
  );
}

/** The name of a file with a line; its path is shown by the pointer. */
function Source({ file, line }: { file: string | null; line: number | null }) {
  if (file === null) return line === null ? <span class="dim">unknown</span> : <span class="dim">line {line}</span>;
  return <span title={file}><bdi>{baseName(file)}</bdi>{line !== null ? `:${line}` : ""}</span>;
}

export function Lines({ index }: { index: number }) {
  return (
    <List<LineItem>
      list={usePart("lines", index)} caption="Lines by address" empty="The file has no lines for this function."
      head={<><th class="number">Address</th><th class="number">Bytes</th><th>Source</th><th>Inlined from</th></>}
      row={(item) => (
        <tr>
          <td class="number mono">{item.address}</td>
          <td class="number">{count(item.size)}</td>
          <td><Source file={item.file} line={item.line} /></td>
          <td class="name">{item.function !== null && <bdi title={item.function}>{item.function}</bdi>}</td>
        </tr>
      )}
    />
  );
}

const INDENT = 14;
const DEEPEST = 24;

export function Inlines({ index }: { index: number }) {
  return (
    <List<InlineItem>
      list={usePart("inlines", index)} caption="Inlined calls" empty="Nothing was inlined into this function, or the file does not say."
      head={<><th class="number">Address</th><th class="number">Bytes</th><th>Function</th><th>Called at</th></>}
      row={(item) => (
        <tr>
          <td class="number mono">{item.address}</td>
          <td class="number">{count(item.size)}</td>
          <td class="name" style={{ paddingLeft: `${Math.min(item.depth - 1, DEEPEST) * INDENT + 6}px` }}>
            <span class="hidden-label">depth {item.depth}: </span>
            {item.depth > 1 && <span class="dim" aria-hidden="true">└ </span>}
            <bdi title={item.function}>{item.function}</bdi>
          </td>
          <td><Source file={item.call_file} line={item.call_line} /></td>
        </tr>
      )}
    />
  );
}

export function Ranges({ index, onChoose, isKsym }: { index: number; onChoose(index: number): void; isKsym: boolean }) {
  return (
    <List<RangeItem>
      list={usePart("ranges", index)} caption={isKsym ? "Symbols of this name" : "Ranges of this name"} empty=""
      head={<><th class="number">Address</th><th class="number">Bytes</th>{!isKsym && <th>Source</th>}<th><span class="hidden-label">Show</span></th></>}
      row={(item) => (
        <tr class={item.index === index ? "chosen" : ""}>
          <td class="number mono">{item.address}</td>
          <td class="number">{count(item.size)}</td>
          {!isKsym && <td><Source file={item.file} line={null} /></td>}
          <td>{item.index === index ? <span class="dim">this one</span> : <button class="small" aria-label={`Show ${item.address}`} onClick={() => onChoose(item.index)}>Show</button>}</td>
        </tr>
      )}
    />
  );
}

export function Pads({ index }: { index: number }) {
  return (
    <List<PadItem>
      list={usePart("pads", index)} caption="Return pads, the outermost function first" empty="The file has no return pads here."
      head={<><th class="number">Address</th><th>Functions</th></>}
      row={(item) => (
        <tr>
          <td class="number mono">{item.va}</td>
          <td class="name">
            {item.frames.map((frame) => <div><bdi>{frame.function}</bdi> <span class="dim"><Source file={frame.file} line={frame.line} /></span></div>)}
          </td>
        </tr>
      )}
    />
  );
}

// The views of metrics and of build settings, with what changed.
import { ComponentChildren } from "preact";
import { ByteUnit, bytes, change, count } from "../common/format";
import { Entry, metricParts, sectionEntries, settingParts } from "./metadata";
import { SizeModel } from "./model";

export function MetricsView({ model, unit }: { model: SizeModel; unit: ByteUnit }) {
  const { before, after } = model.info;
  const parts = metricParts(before, after);
  return (
    <main class="about" aria-label="Metrics">
      <details open>
        <summary><h2>Sections</h2></summary>
        <Table columns={model.isDiff ? ["bytes before", "bytes after", "change"] : ["in the file", "in memory", "symbols"]}>
          {sectionEntries(before, after).map((entry) => (
            <tr>
              <th scope="row"><bdi>{entry.name}</bdi>{(entry.after ?? entry.before)!.is_in_other && <span class="dim"> (in .other)</span>}</th>
              {model.isDiff ? (
                <Numbers before={entry.before?.file} after={entry.after?.file} show={(value) => bytes(value, unit)} sign={(value) => change(value, unit)} />
              ) : (
                <>
                  <td class="number" title={count(entry.after!.file)}>{bytes(entry.after!.file, unit)}</td>
                  <td class="number">{bytes(entry.after!.memory, unit)}</td>
                  <td class="number">{count(entry.after!.symbols)}</td>
                </>
              )}
            </tr>
          ))}
          <tr class="total">
            <th scope="row">total</th>
            {model.isDiff ? (
              <Numbers before={before!.file_bytes} after={after.file_bytes} show={(value) => bytes(value, unit)} sign={(value) => change(value, unit)} />
            ) : (
              <>
                <td class="number">{count(after.file_bytes)} B</td>
                <td class="number">{count(after.memory_bytes)} B</td>
                <td class="number">{count(after.sections.reduce((sum, section) => sum + (section.is_in_other ? 0 : section.symbols), 0))}</td>
              </>
            )}
          </tr>
        </Table>
      </details>
      {parts.map((part) => (
        <details open>
          <summary><h2><bdi>{part.title}</bdi></h2></summary>
          <Table columns={model.isDiff ? ["before", "after", "change"] : ["value"]}>
            {part.entries.map((entry) => <Metric entry={entry} isDiff={model.isDiff} unit={unit} />)}
          </Table>
        </details>
      ))}
      {parts.length === 0 && <p class="dim">The file has no metrics.</p>}
    </main>
  );
}

function Metric({ entry, isDiff, unit }: { entry: Entry<number>; isDiff: boolean; unit: ByteUnit }) {
  const isSize = entry.name.startsWith("SIZE/");
  const show = (value: number) => (isSize ? bytes(value, unit) : count(value));
  const sign = (value: number) => (isSize ? change(value, unit) : (value > 0 ? "+" : "") + count(value));
  return (
    <tr>
      <th scope="row"><bdi>{entry.name.replace("/", ": ")}</bdi></th>
      {isDiff ? <Numbers before={entry.before} after={entry.after} show={show} sign={sign} /> : <td class="number" title={count(entry.after!)}>{show(entry.after!)}</td>}
    </tr>
  );
}

interface NumbersProps {
  before: number | undefined;
  after: number | undefined;
  show(value: number): string;
  sign(value: number): string;
}

function Numbers({ before, after, show, sign }: NumbersProps) {
  const difference = (after ?? 0) - (before ?? 0);
  return (
    <>
      <td class="number" title={before === undefined ? "" : count(before)}>{before === undefined ? "–" : show(before)}</td>
      <td class="number" title={after === undefined ? "" : count(after)}>{after === undefined ? "–" : show(after)}</td>
      <td class={"number " + (difference > 0 ? "grown" : difference < 0 ? "shrunk" : "dim")} title={count(difference)}>{sign(difference)}</td>
    </>
  );
}

export function BuildView({ model }: { model: SizeModel }) {
  const { before, after } = model.info;
  const parts = settingParts(before, after);
  return (
    <main class="about" aria-label="Build settings">
      {parts.map((part) => (
        <details open>
          <summary><h2><bdi>{part.title}</bdi></h2></summary>
          <Table isText columns={model.isDiff ? ["before", "after", ""] : ["value"]}>
            {part.entries.map((entry) => <Setting entry={entry} isDiff={model.isDiff} />)}
          </Table>
        </details>
      ))}
      {parts.length === 0 && <p class="dim">The file says nothing about its build.</p>}
    </main>
  );
}

function Setting({ entry, isDiff }: { entry: Entry<string>; isDiff: boolean }) {
  const { before, after } = entry;
  const status = before === after ? "" : before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return (
    <tr class={isDiff && status ? "differs" : ""}>
      <th scope="row"><bdi>{entry.name}</bdi></th>
      {isDiff && <td><bdi>{before ?? "–"}</bdi></td>}
      <td><bdi>{after ?? "–"}</bdi></td>
      {isDiff && <td>{status}</td>}
    </tr>
  );
}

function Table({ columns, isText, children }: { columns: string[]; isText?: boolean; children: ComponentChildren }) {
  return (
    <table>
      <thead><tr><th scope="col">name</th>{columns.map((column) => (column === "" ? <td /> : <th scope="col" class={isText ? "" : "number"}>{column}</th>))}</tr></thead>
      <tbody>{children}</tbody>
    </table>
  );
}

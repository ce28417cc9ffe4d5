// The line of totals in the head of the page. They are those that the program prints.
import { useMemo } from "preact/hooks";
import { bytes, count } from "../common/format";
import { SizeModel } from "./model";
import { bytesByStatus, symbolBytes } from "./sums";

const signed = (value: number) => (value > 0 ? "+" : "") + count(value);

export function Totals({ model }: { model: SizeModel }) {
  return <p id="totals">{model.isDiff ? <Change model={model} /> : <Sizes model={model} />}</p>;
}

function Sizes({ model }: { model: SizeModel }) {
  const { file_bytes, memory_bytes } = model.info.after;
  const inSymbols = useMemo(() => symbolBytes(model), [model]);
  return (
    <>
      <b>{count(file_bytes)} bytes</b> in the file ({bytes(file_bytes)}), {count(memory_bytes)} bytes in memory, {count(model.info.rows + (model.info.small_symbols ?? 0) - (model.info.small_rows ?? 0))} symbols
      {Math.round(inSymbols) !== file_bytes && <> with <b>{count(inSymbols)} bytes</b>: the file does not list all symbols, or not exactly</>}
    </>
  );
}

function Change({ model }: { model: SizeModel }) {
  const total = model.info.change!;
  const sums = useMemo(() => bytesByStatus(model), [model]);
  const share = total.before_bytes > 0 ? ` (${((100 * total.bytes) / total.before_bytes).toFixed(1)} %)` : "";
  return (
    <>
      <b class={total.bytes > 0 ? "grown" : total.bytes < 0 ? "shrunk" : ""}>{signed(total.bytes)} bytes</b>{share}: {count(total.before_bytes)} → {count(total.after_bytes)} bytes.{" "}
      {(["added", "removed", "changed"] as const).map((status, i) => (
        <>{i > 0 && ", "}<b>{count(total[status])} {status}</b> ({signed(sums[status])} bytes)</>
      ))}
    </>
  );
}

// The history of an address, which the program is asked for: only in pages of `sextant view`.
import { useState } from "preact/hooks";
import { bytes, count, duration } from "../common/format";
import { askJson, served } from "../common/served";
import { HeapModel } from "./model";

interface HistoryEvent {
  event: "alloc" | "free";
  time_us: number;
  address: string;
  size?: number;
  offset?: number;
  thread?: number;
  lifetime_us?: number;
  implicit?: boolean;
  unmatched?: boolean;
  frames?: { file: string | null; line: number; function: string | null }[];
}

interface History {
  address: string;
  events: HistoryEvent[];
  count: number;
}

const SHOWN_FRAMES = 3;

function frameText({ file, line, function: name }: { file: string | null; line: number; function: string | null }): string {
  const place = file ? ` (${file.slice(file.lastIndexOf("/") + 1)}${line > 0 ? ":" + line : ""})` : "";
  return (name ?? "?").slice(0, 100) + place.slice(0, 100);
}

function eventText(event: HistoryEvent): string {
  if (event.unmatched) return "no block is known";
  if (event.event === "free") return `after ${duration(event.lifetime_us! * 1000)}${event.implicit ? ": the address was allocated again" : ""}`;
  const inside = event.offset! > 0 ? `, ${count(event.offset!)} bytes before the address` : "";
  return `${event.address}${inside} by ${event.frames!.slice(0, SHOWN_FRAMES).map(frameText).join(" ← ")}`;
}

function Events({ model, history }: { model: HeapModel; history: History }) {
  const start = Number(model.info.totals.start);
  return (
    <>
      <output>{history.count === 0 ? `No block of this trace had the address ${history.address}.` : `${count(history.count)} events at ${history.address}`}</output>
      <table>
        <tbody>
          {history.events.map((event, i) => (
            <tr key={i}>
              <td class="number" title={`${event.time_us} µs since 1970`}>{duration((event.time_us - start) * 1000)}</td>
              <td>{event.event}</td>
              <td class="number">{event.size === undefined ? "" : bytes(event.size)}</td>
              <td class="name" title={event.frames?.map(frameText).join("\n")}><bdi>{eventText(event)}</bdi></td>
            </tr>
          ))}
        </tbody>
      </table>
      {history.count > history.events.length && <p class="dim">The first {count(history.events.length)} are listed.</p>}
    </>
  );
}

export function AddressBox({ model }: { model: HeapModel }) {
  const [address, setAddress] = useState("");
  const [state, setState] = useState<History | string | null>(null);
  if (!served) return null;
  const ask = async (event: Event) => {
    event.preventDefault();
    setState("Reading the trace…");
    try {
      setState(await askJson<History>("address", { address: address.trim() }));
    } catch (error) {
      setState(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section class="chart address-box">
      <h2>History of an address</h2>
      <form onSubmit={ask}>
        <label><span class="hidden-label">Address</span>
          <input name="address" placeholder="0x7f12…" value={address} spellcheck={false} autocomplete="off" onInput={(event) => setAddress(event.currentTarget.value)} />
        </label>{" "}
        <button disabled={address.trim() === ""}>Show</button>
      </form>
      {typeof state === "string" ? <p class="dim" role="status">{state}</p> : state && <Events model={model} history={state} />}
    </section>
  );
}

// The heap of a program that is being recorded: asks for figures every second until the recording ends.
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, count, counted, duration } from "../common/format";
import { askJson, served } from "../common/served";
import { ServedLinks } from "../common/served_links";
import { ThemeSwitch } from "../common/theme";
import { readState, writeState } from "../common/url_state";
import { Course } from "./course";
import { Figures, Order } from "./model";
import { Sites, Threads } from "./tables";

const INTERVAL = 1000;
const ORDERS: Order[] = ["live_bytes", "live_blocks", "allocations", "allocated_bytes"];

/** The page of the trace that the recording becomes. */
export function tracePage(): string | undefined {
  return served?.pages.find((page) => page.title === "Heap")?.url;
}

/** Asks again and again, one request at a time. */
function useFigures(first: Figures, order: Order, isPaused: boolean): { figures: Figures; problem: string } {
  const [figures, setFigures] = useState(first);
  const [problem, setProblem] = useState("");
  const asked = useRef<Order>(order);
  useEffect(() => {
    if (isPaused || (figures.ended && asked.current === order)) return;
    let isOver = false;
    const timer = setTimeout(async () => {
      try {
        const next = await askJson<Figures>("figures", { order });
        if (isOver) return;
        asked.current = order;
        setProblem("");
        setFigures(next);
      } catch (error) {
        if (!isOver) {
          setProblem(error instanceof TypeError ? "The program does not answer: is sextant view still running?" : String(error));
          setFigures((old) => ({ ...old }));
        }
      }
    }, asked.current === order ? INTERVAL : 0);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [figures, order, isPaused]);
  return { figures, problem };
}

export function App({ name, first }: { name: string; first: Figures }) {
  const [isPaused, setPaused] = useState(false);
  const [order, setOrder] = useState<Order>(() => ORDERS.find((one) => one === readState().order) ?? "live_bytes");
  useEffect(() => writeState({ order }, { order: "live_bytes" }), [order]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isControl = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT|BUTTON|SUMMARY|A)$/.test(event.target.tagName);
      if (event.key === "p" && !isControl && !event.ctrlKey && !event.metaKey && !event.altKey) setPaused((old) => !old);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const { figures, problem } = useFigures(first, order, isPaused);
  const state = figures.ended ? "ended" : isPaused ? "paused" : "running";
  return (
    <div class="page">
      <header>
        <h1><bdi>{name}</bdi></h1>
        <span id="state" class={"state " + state} role="status">{state}</span>
        {!figures.ended && <button id="pause" type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>{isPaused ? "Go on" : "Pause"}</button>}
        <ServedLinks />
        <ThemeSwitch />
      </header>
      {figures.ended && (
        <p id="end" class="notice" role="status">
          The recording has ended. {tracePage() && <a href={tracePage()}>Open the finished trace</a>}
        </p>
      )}
      {problem && <p class="error" role="alert">{problem}</p>}
      <Totals figures={figures} />
      <main>
        <section aria-label="Live bytes over time"><Course figures={figures} /></section>
        <Sites figures={figures} order={order} onOrder={setOrder} />
        <Threads figures={figures} order={order} onOrder={setOrder} />
      </main>
    </div>
  );
}

function Amount({ id, name, value, about }: { id: string; name: string; value: string; about: string }) {
  return <div class="amount" id={id}><dt>{name}</dt><dd><b>{value}</b> <span>{about}</span></dd></div>;
}

function Totals({ figures }: { figures: Figures }) {
  const notes: string[] = [];
  if (figures.sample_period > 0) notes.push(`Figures are estimates from samples, one for every ${bytes(figures.sample_period)}.`);
  if (figures.dropped > 0) notes.push(`${count(figures.dropped)} events were lost while recording.`);
  if (figures.behind) notes.push("The newest events are not shown yet: there are too many.");
  if (figures.markers > 0) notes.push(`${counted(figures.markers, "marker")}, the last one: ${figures.last_marker ?? ""}`);
  return (
    <>
      <dl id="totals">
        <Amount id="live" name="Live" value={bytes(figures.live_bytes)} about={`${counted(figures.live_bytes, "byte")} in ${counted(figures.live_blocks, "block")}`} />
        <Amount id="peak" name="Peak" value={bytes(figures.peak_bytes)} about={`${counted(figures.peak_bytes, "byte")}${figures.peak_time_us > figures.start_us ? `, after ${duration((figures.peak_time_us - figures.start_us) * 1000)}` : ""}`} />
        <Amount id="rates" name="Rates" value={`${count(figures.allocations_per_s)} allocations/s`} about={`${count(figures.frees_per_s)} frees/s, ${bytes(figures.allocated_bytes_per_s)}/s`} />
        <Amount id="allocated" name="Allocated" value={bytes(figures.allocated_bytes)} about={`${counted(figures.allocated_bytes, "byte")} in ${counted(figures.allocations, "block")}`} />
        <Amount id="time" name="Time" value={duration((figures.time_us - figures.start_us) * 1000)} about={figures.pid > 0 ? `process ${figures.pid}` : ""} />
      </dl>
      {notes.length > 0 && <p class="notes" role="note"><bdi>{notes.join(" ")}</bdi></p>}
    </>
  );
}

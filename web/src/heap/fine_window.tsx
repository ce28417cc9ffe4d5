// Windows of a large trace in bins of their own, which the program makes: only in pages of `sextant view`.
import { count, duration } from "../common/format";
import { served } from "../common/served";
import { HeapModel, POWERS } from "./model";
import { sumPowers, total, Window } from "./windows";

/** The address of this page with a window, in microseconds since 1970; without one, of the whole trace. */
function addressOf(window: { from: number; until: number } | null): string {
  const query = new URLSearchParams(location.search);
  query.delete("from");
  query.delete("until");
  if (window) {
    query.set("from", String(window.from));
    query.set("until", String(window.until));
  }
  const text = query.toString();
  return location.pathname + (text ? "?" + text : "");
}

export function FineWindow({ model, window }: { model: HeapModel; window: Window }) {
  const { bins, bin_width: width, fine_events: most, window_start: start, totals } = model.info;
  if (!served || most === undefined) return null;
  const events = total(sumPowers(model.sizeCount, POWERS, window)) + total(sumPowers(model.lifeCount, POWERS, window));
  const isPart = window.from > 0 || window.to < bins;
  const from = Number(totals.start) + window.from * width;
  const canZoom = isPart && width > 1 && events <= most;
  return (
    <p class="fine-window">
      {start !== undefined && (
        <>
          <b>From {duration(start * 1000)} to {duration((start + Number(totals.duration)) * 1000)} of the trace</b>: times count from the beginning of this window.{" "}
          <a href={addressOf(null)}>Whole trace in coarse bins</a>{" "}
        </>
      )}
      {canZoom
        ? <a id="finer" href={addressOf({ from, until: from + (window.to - window.from) * width - 1 })}>Show this window in finer bins</a>
        : width > 1 && <span class="dim">{isPart ? `This window has about ${count(events)} events; one with at most ${count(most)} can be shown in finer bins.` : "Choose a window to see it in finer bins."}</span>}
    </p>
  );
}

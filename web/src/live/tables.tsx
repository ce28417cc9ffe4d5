// The sites with the most, and the threads.
import { bytes, count, percent } from "../common/format";
import { Figures, mainFrame, Order, place, Site, Sums } from "./model";

const COLUMNS: { order: Order; name: string; text(sums: Sums): string; title(sums: Sums): string }[] = [
  { order: "live_bytes", name: "Live", text: (sums) => bytes(sums.live_bytes), title: (sums) => `${count(sums.live_bytes)} bytes` },
  { order: "live_blocks", name: "Blocks", text: (sums) => count(sums.live_blocks), title: () => "" },
  { order: "allocations", name: "Allocations", text: (sums) => count(sums.allocations), title: () => "" },
  { order: "allocated_bytes", name: "Allocated", text: (sums) => bytes(sums.allocated_bytes), title: (sums) => `${count(sums.allocated_bytes)} bytes` },
];

interface Props {
  figures: Figures;
  order: Order;
  onOrder(order: Order): void;
}

function Heading({ order, onOrder, last }: { order: Order; onOrder(order: Order): void; last: string }) {
  return (
    <thead>
      <tr>
        {COLUMNS.map((column) => (
          <th key={column.order} class="number" scope="col" aria-sort={order === column.order ? "descending" : undefined}>
            <button type="button" class="sort" onClick={() => onOrder(column.order)}>{column.name}{order === column.order ? " ▾" : ""}</button>
          </th>
        ))}
        <th class="number" scope="col">Share</th>
        <th scope="col">{last}</th>
      </tr>
    </thead>
  );
}

function Numbers({ sums, whole }: { sums: Sums; whole: number }) {
  return (
    <>
      {COLUMNS.map((column) => <td key={column.order} class="number" title={column.title(sums)}>{column.text(sums)}</td>)}
      <td class="number">{percent(sums.live_bytes, whole)}</td>
    </>
  );
}

function SiteName({ site }: { site: Site }) {
  const frame = mainFrame(site);
  if (!frame) return <span class="dim">stack {site.stack}</span>;
  return (
    <details>
      <summary><bdi class="function">{(frame.function ?? "?").slice(0, 400)}</bdi> <bdi class="dim place">{place(frame).slice(0, 200)}</bdi></summary>
      <ol class="frames mono">
        {site.frames.map((one, index) => (
          <li key={index} class={one.library ? "dim" : ""}><bdi>{(one.function ?? "?").slice(0, 2000)}</bdi> <bdi class="dim">{one.file?.slice(0, 1000)}{one.line > 0 ? `:${one.line}` : ""}</bdi></li>
        ))}
      </ol>
    </details>
  );
}

export function Sites({ figures, order, onOrder }: Props) {
  return (
    <section aria-label="Sites">
      <h2>Sites <span class="dim">{figures.sites.length < figures.site_count ? `the first ${count(figures.sites.length)}` : ""}</span></h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of sites">
        <table id="sites">
          <Heading order={order} onOrder={onOrder} last="Function" />
          <tbody>
            {figures.sites.map((site) => <tr key={site.stack}><Numbers sums={site} whole={figures.live_bytes} /><td class="name"><SiteName site={site} /></td></tr>)}
            {figures.sites.length === 0 && <tr><td colSpan={6} class="dim">Nothing is live.</td></tr>}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function Threads({ figures, order, onOrder }: Props) {
  return (
    <section aria-label="Threads">
      <h2>Threads</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of threads">
        <table id="threads">
          <Heading order={order} onOrder={onOrder} last="Thread" />
          <tbody>
            {figures.threads.map((thread) => <tr key={thread.number}><Numbers sums={thread} whole={figures.live_bytes} /><td class="name">{thread.number} <bdi>{thread.name}</bdi></td></tr>)}
          </tbody>
        </table>
      </div>
    </section>
  );
}

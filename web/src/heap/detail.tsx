// What is known of a chosen site, function or stack: its figures in the window, and its heaviest stack with source lines.
import { bytes, count, counted } from "../common/format";
import { Excerpt, HeapModel } from "./model";
import { Figures } from "./windows";

export interface CostFigures {
  name: string;
  figures: Figures;
}

interface Props {
  model: HeapModel;
  title: string;
  rows: Uint8Array;
  costs: CostFigures[];
  /** The figures by which the heaviest stack is chosen. */
  figures: Figures;
  onClose(): void;
}

const STACKS_SHOWN = 5;

export function Detail({ model, title, rows, costs, figures, onClose }: Props) {
  const sum = (list: Float64Array) => list.reduce((all, value, row) => all + (rows[row] ? value : 0), 0);
  const stacks = heaviest(model, rows, figures);
  return (
    <aside class="detail" aria-label="Details">
      <button class="close" aria-label="Close the details" onClick={onClose}>✕</button>
      <h2><bdi>{title.slice(0, 2000)}</bdi></h2>
      <p class="dim"><span class="swatch" /> live bytes in the timeline</p>
      <table class="figures">
        <thead><tr><th><span class="hidden-label">what</span></th><th class="number">bytes</th><th class="number">blocks</th></tr></thead>
        <tbody>
          {costs.map((cost) => (
            <tr key={cost.name}><th scope="row">{cost.name}</th><td class="number">{count(sum(cost.figures.bytes))}</td><td class="number">{count(sum(cost.figures.count))}</td></tr>
          ))}
        </tbody>
      </table>
      {stacks.slice(0, STACKS_SHOWN).map((stack) => <Stack key={stack.node} model={model} stack={stack} />)}
      {stacks.length > STACKS_SHOWN && <p class="dim">and {count(stacks.length - STACKS_SHOWN)} more stacks</p>}
    </aside>
  );
}

interface StackSum {
  node: number;
  stack: number;
  bytes: number;
  count: number;
}

function heaviest(model: HeapModel, rows: Uint8Array, figures: Figures): StackSum[] {
  const sums = new Map<number, StackSum>();
  for (let row = 0; row < rows.length; row++) {
    if (!rows[row]) continue;
    const node = model.rowNode[row];
    const sum = sums.get(node) ?? { node, stack: model.rowStack[row], bytes: 0, count: 0 };
    sum.bytes += figures.bytes[row];
    sum.count += figures.count[row];
    sums.set(node, sum);
  }
  return [...sums.values()].filter((sum) => sum.bytes > 0 || sum.count > 0).sort((a, b) => b.bytes - a.bytes || a.node - b.node);
}

const FRAMES_SHOWN = 200;

function Stack({ model, stack }: { model: HeapModel; stack: StackSum }) {
  const { calls } = model;
  const frames = calls.stack(stack.node);
  return (
    <section>
      <h3>Stack {stack.stack}: {bytes(stack.bytes)} in {counted(stack.count, "block")}</h3>
      <ol class="stack">
        {frames.slice(0, FRAMES_SHOWN).map((frame, i) => {
          const of = calls.frameFunction[frame];
          const source = model.sourceOf(frame);
          return (
            <li key={i} class={calls.isLibrary[of] ? "dim" : ""}>
              <bdi title={calls.name(of).slice(0, 2000)}>{calls.shortName(of).slice(0, 500)}</bdi>
              <div class="dim place"><bdi>{calls.place(frame).slice(-300)}</bdi></div>
              {source && <Source excerpt={source} line={calls.frameLine[frame]} />}
            </li>
          );
        })}
      </ol>
      {frames.length > FRAMES_SHOWN && <p class="dim">and {count(frames.length - FRAMES_SHOWN)} more frames</p>}
    </section>
  );
}

function Source({ excerpt, line }: { excerpt: Excerpt; line: number }) {
  const from = Math.max(excerpt.first, line - 3);
  const lines = excerpt.lines.slice(from - excerpt.first, line + 4 - excerpt.first);
  return (
    <pre class="source">
      {lines.map((text, i) => (
        <div class={from + i === line ? "here" : ""}><span class="line-number">{from + i}</span>{text || " "}</div>
      ))}
    </pre>
  );
}

// What is known of the symbol or group that is chosen.
import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ByteUnit, bytes, change, count, percent } from "../common/format";
import { Tree } from "../common/tree";
import { Disassembly } from "./disassembly";
import { flagNames } from "./exports";
import { InlinedModel } from "./inlined";
import { SizeModel, STATUS } from "./model";
import { breakdown } from "./sums";

interface Props {
  model: SizeModel;
  inlined: InlinedModel | null;
  tree: Tree;
  /** What is chosen, or the group that is shown. */
  item: number;
  hasNames: boolean;
  unit: ByteUnit;
  onChoose(item: number): void;
}

const MOST_ALIASES = 200;

export function Card(props: Props) {
  const { item, tree, inlined } = props;
  return (
    <aside class="card" aria-live="polite" aria-label="Details" tabIndex={0}>
      {item >= 0 ? (
        <Group {...props} group={item} key={item} />
      ) : inlined ? (
        <Inlined model={inlined} row={-1 - item} unit={props.unit} key={item} />
      ) : (
        <Symbol {...props} row={-1 - item} key={item} path={tree.pathNames(tree.groupOf(-1 - item))} />
      )}
    </aside>
  );
}

function Field({ title, children, wide }: { title: string; children: ComponentChildren; wide?: boolean }) {
  return <div class={wide ? "wide" : ""}><dt>{title}</dt><dd>{children}</dd></div>;
}

function Group({ tree, group, model, inlined, unit }: Props & { group: number }) {
  const value = tree.values[group];
  const isMethods = tree.rowValues !== model.rows.pss;
  const { isDiff } = model;
  const show = (amount: number) => (isMethods && !inlined ? count(amount) : isDiff ? change(amount, unit) : bytes(amount, unit));
  const lines = inlined ? [] : breakdown(model, tree, group);
  return (
    <>
      <dl>
        <Field title="Group" wide><bdi>{tree.pathNames(group).join(" › ") || "everything"}</bdi></Field>
        <Field title={isMethods && !inlined ? "Methods" : isDiff ? "Change" : "Size"}>{show(value)}{!isMethods && ` (${count(value)} bytes)`}</Field>
        <Field title="Share">{percent(value, tree.values[0]) || "–"}</Field>
        <Field title={inlined ? "Functions" : "Symbols"}>{count(tree.counts[group])}</Field>
      </dl>
      {lines.length > 0 && (
        <table class="breakdown">
          <thead><tr><th scope="col">section</th>{isDiff && <th scope="col">status</th>}<th scope="col" class="number">symbols</th><th scope="col" class="number">{isDiff ? "change" : "size"}</th>{!isDiff && <th scope="col" class="number">share</th>}</tr></thead>
          <tbody>
            {lines.map((line) => (
              <tr>
                <th scope="row"><bdi>{line.section}</bdi></th>{isDiff && <td>{line.status}</td>}
                <td class="number">{count(line.count)}</td><td class="number" title={`${count(line.value)} bytes`}>{show(line.value)}</td>
                {!isDiff && <td class="number">{percent(line.value, value)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function Inlined({ model, row, unit }: { model: InlinedModel; row: number; unit: ByteUnit }) {
  return (
    <dl>
      <Field title="Inlined function" wide><bdi class="mono">{model.name(row)}</bdi></Field>
      <Field title="Own bytes in all places">{bytes(model.size[row], unit)} ({count(model.size[row])} bytes)</Field>
      <Field title="With what is inlined into it">{bytes(model.total[row], unit)} ({count(model.total[row])} bytes)</Field>
      <Field title="Places">{count(model.places[row])}</Field>
      <Field title="Share of all code">{percent(model.size[row], model.codeBytes)}</Field>
      {model.files[row] && <Field title="Defined in"><bdi>{model.files[row]}</bdi></Field>}
    </dl>
  );
}

function Symbol({ model, row, path, hasNames, unit, onChoose }: Props & { row: number; path: string[] }) {
  const { rows, info } = model;
  const [isListing, setListing] = useState(false);
  const segment = info.segments[rows.segment[row]];
  const pair = rows.path[row];
  const source = model.sources[model.pathSource[pair]];
  const object = model.objects[model.pathObject[pair]];
  const component = model.components[rows.component[row]];
  const flags = flagNames(rows.flags[row]);
  const aliases = hasNames ? model.aliasesOf(row) : [];
  const listing = model.disassembly.get(row);
  const name = hasNames ? model.name(row) : "";
  const shortName = hasNames ? model.shortName(row) : "";
  const size = rows.size[row];
  return (
    <dl>
      <Field title="Full name" wide><bdi class="mono">{name || (hasNames ? "(no name)" : "…")}</bdi></Field>
      {shortName !== name && <Field title="Short name"><bdi class="mono">{shortName}</bdi></Field>}
      {rows.status && <Field title="Status">{STATUS[rows.status[row]]}: {count(rows.before![row])} → {count(rows.after![row])} bytes</Field>}
      <Field title={model.isDiff ? "Change" : "Size"}>
        {model.isDiff ? change(size, unit) : bytes(size, unit)} ({count(size)} bytes{rows.padding[row] !== 0 ? `, ${count(rows.padding[row])} of it padding` : ""})
      </Field>
      {rows.aliases[row] > 1 && <Field title="Its share of these">{rows.pss[row].toFixed(1)} bytes: {count(rows.aliases[row])} names have them</Field>}
      <Field title="Section"><bdi>{segment.section}</bdi></Field>
      <Field title="Address">{model.address(row)}</Field>
      {segment.container && <Field title="Container"><bdi>{segment.container}</bdi></Field>}
      {flags.length > 0 && <Field title="Flags">{flags.join(", ")}</Field>}
      {component && <Field title="Component"><bdi>{component}</bdi></Field>}
      <Field title="Source"><bdi>{source || "–"}</bdi></Field>
      <Field title="Object"><bdi>{object || "–"}</bdi></Field>
      <Field title="Group"><bdi>{path.join(" › ")}</bdi></Field>
      {listing && <Field title="Disassembly"><button onClick={() => setListing(true)}>{model.isDiff ? "Show before and after" : "Show"}</button></Field>}
      {aliases.length > 0 && (
        <Field title={`Other names of the same bytes (${count(aliases.length)})`} wide>
          <ul class="aliases">
            {aliases.slice(0, MOST_ALIASES).map((other) => <li><button class="link mono" onClick={() => onChoose(-1 - other)}><bdi>{model.name(other).slice(0, 1000) || "(no name)"}</bdi></button></li>)}
          </ul>
        </Field>
      )}
      {isListing && <Disassembly {...listing!} name={name} isDiff={model.isDiff} onClose={() => setListing(false)} />}
    </dl>
  );
}

// What is known of the symbol or group that is chosen.
import { ComponentChildren } from "preact";
import { ByteUnit, bytes, change, count } from "../common/format";
import { Tree } from "../common/tree";
import { FLAGS, SizeModel, STATUS } from "./model";

interface Props {
  model: SizeModel;
  tree: Tree;
  item: number | null;
  hasNames: boolean;
  unit: ByteUnit;
}

export function Card({ model, tree, item, hasNames, unit }: Props) {
  if (item === null) return <aside class="card dim" aria-live="polite">Choose a symbol or a group to see more. Double-click or press Enter to zoom.</aside>;
  return (
    <aside class="card" aria-live="polite" aria-label="Details">
      <dl>{item >= 0 ? <Group tree={tree} group={item} model={model} unit={unit} /> : <Symbol model={model} row={-1 - item} hasNames={hasNames} unit={unit} />}</dl>
    </aside>
  );
}

function Field({ title, children }: { title: string; children: ComponentChildren }) {
  return <div><dt>{title}</dt><dd><bdi>{children}</bdi></dd></div>;
}

function Group({ tree, group, model, unit }: { tree: Tree; group: number; model: SizeModel; unit: ByteUnit }) {
  const value = tree.values[group];
  return (
    <>
      <Field title="Group">{tree.path(group).map((step) => tree.names[step]).join(" › ") || "(root)"}</Field>
      <Field title={model.isDiff ? "Change" : "Size"}>{model.isDiff ? change(value, unit) : bytes(value, unit)} ({count(value)} bytes)</Field>
      <Field title="Symbols">{count(tree.counts[group])}</Field>
    </>
  );
}

function Symbol({ model, row, hasNames, unit }: { model: SizeModel; row: number; hasNames: boolean; unit: ByteUnit }) {
  const { rows, info } = model;
  const segment = info.segments[rows.segment[row]];
  const path = rows.path[row];
  const flags = FLAGS.filter((_, i) => (rows.flags[row] >> i) & 1);
  const source = model.sources[model.pathSource[path]];
  const object = model.objects[model.pathObject[path]];
  return (
    <>
      <Field title="Name"><span class="mono">{hasNames ? model.name(row) : ""}</span></Field>
      {rows.status && <Field title="Status">{STATUS[rows.status[row]]}: {count(rows.before![row])} → {count(rows.after![row])} bytes</Field>}
      <Field title={model.isDiff ? "Change" : "Size"}>
        {model.isDiff ? change(rows.pss[row], unit) : bytes(rows.pss[row], unit)} ({count(rows.size[row])} bytes
        {rows.aliases[row] > 1 ? `, shared by ${count(rows.aliases[row])} names` : ""}{rows.padding[row] !== 0 ? `, ${count(rows.padding[row])} of it padding` : ""})
      </Field>
      <Field title="Section">{segment.section} at {model.address(row)}{segment.container ? " in " + segment.container : ""}</Field>
      {source && <Field title="Source">{source}</Field>}
      {object && <Field title="Object">{object}</Field>}
      {model.components[rows.component[row]] && <Field title="Component">{model.components[rows.component[row]]}</Field>}
      {flags.length > 0 && <Field title="Flags">{flags.join(", ")}</Field>}
    </>
  );
}

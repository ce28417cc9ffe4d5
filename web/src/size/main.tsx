import { render } from "preact";
import "../common/style.css";
import { embedded } from "../common/data";
import { applyTheme } from "../common/theme";
import { App, Loaded } from "./app";
import { InlinedModel } from "./inlined";
import { SizeModel } from "./model";
import "./style.css";

applyTheme();
const model = new SizeModel(embedded);
const { info } = model;
document.title = `${info.before_name ? info.before_name + " → " : ""}${info.name} — sextant`;

async function load(): Promise<Loaded> {
  const inlined = info.inlined ? new InlinedModel(info.inlined, info.code_bytes!) : null;
  await Promise.all([model.loadNames(), model.loadLabels(), model.loadDisassembly(), inlined?.load(embedded)]);
  model.lowerNames();
  return { names: true, inlined };
}

const root = document.getElementById("app")!;
root.textContent = `Reading ${info.rows.toLocaleString("en-US")} symbols…`;
model.loadRows().then(
  () => {
    root.textContent = "";
    render(<App model={model} load={load} />, root);
  },
  (error: unknown) => (root.textContent = `This page could not be read. It may be cut off, or the browser too old. (${String(error)})`),
);

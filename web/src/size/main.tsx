import { render } from "preact";
import "../common/style.css";
import { Source } from "../common/data";
import { applyTheme } from "../common/theme";
import { failureText, openSource } from "../common/served";
import { App, Loaded } from "./app";
import { InlinedModel } from "./inlined";
import { SizeModel } from "./model";
import "./style.css";

applyTheme();
const root = document.getElementById("app")!;

async function loadRest(source: Source, model: SizeModel): Promise<Loaded> {
  const { info } = model;
  const inlined = info.inlined ? new InlinedModel(info.inlined, info.code_bytes!) : null;
  await Promise.all([model.loadNames(), model.loadLabels(), model.loadDisassembly(), inlined?.load(source)]);
  model.lowerNames();
  return { names: true, inlined };
}

async function open(): Promise<void> {
  const source = await openSource(() => undefined);
  const model = new SizeModel(source);
  const { info } = model;
  document.title = `${info.before_name ? info.before_name + " → " : ""}${info.name} — sextant`;
  root.textContent = `Reading ${info.rows.toLocaleString("en-US")} symbols…`;
  await model.loadRows();
  root.textContent = "";
  render(<App model={model} load={() => loadRest(source, model)} />, root);
}

root.textContent = "Reading the symbols…";
open().catch((error: unknown) => (root.textContent = failureText(error)));

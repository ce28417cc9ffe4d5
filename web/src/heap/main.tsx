import { ComponentChild, render } from "preact";
import "../common/style.css";
import { applyTheme } from "../common/theme";
import { failureText, openSource } from "../common/served";
import { App } from "./app";
import { DiffApp } from "./diff_app";
import { HeapDiffInfo, HeapDiffModel } from "./diff_model";
import { HeapInfo, HeapModel } from "./model";
import "./style.css";

applyTheme();
const root = document.getElementById("app")!;
root.textContent = "Reading the trace…";

async function open(): Promise<ComponentChild> {
  const source = await openSource((percent) => (root.textContent = `Reading the trace… ${percent} %`));
  const info = source.json<HeapInfo | HeapDiffInfo>();
  document.title = `${info.name.slice(0, 200)} — sextant`;
  if (info.kind === "heapdiff") {
    const model = new HeapDiffModel(source, info);
    await model.load();
    return <DiffApp model={model} />;
  }
  const model = new HeapModel(source, info);
  await model.load();
  return <App model={model} />;
}

open().then(
  (page) => {
    root.textContent = "";
    render(page, root);
  },
  (error: unknown) => (root.textContent = failureText(error)),
);

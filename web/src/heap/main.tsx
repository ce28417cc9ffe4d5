import { ComponentChild, render } from "preact";
import "../common/style.css";
import { embedded } from "../common/data";
import { applyTheme } from "../common/theme";
import { App } from "./app";
import { DiffApp } from "./diff_app";
import { HeapDiffInfo, HeapDiffModel } from "./diff_model";
import { HeapInfo, HeapModel } from "./model";
import "./style.css";

applyTheme();
const info = embedded.json<HeapInfo | HeapDiffInfo>();
document.title = `${info.name.slice(0, 200)} — sextant`;

async function open(): Promise<ComponentChild> {
  if (info.kind === "heapdiff") {
    const model = new HeapDiffModel(embedded, info);
    await model.load();
    return <DiffApp model={model} />;
  }
  const model = new HeapModel(embedded, info);
  await model.load();
  return <App model={model} />;
}

const root = document.getElementById("app")!;
root.textContent = "Reading the trace…";
open().then(
  (page) => {
    root.textContent = "";
    render(page, root);
  },
  (error: unknown) => (root.textContent = `This page could not be read. It may be cut off, or the browser too old. (${String(error)})`),
);

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

void open().then((page) => {
  const root = document.getElementById("app")!;
  root.textContent = "";
  render(page, root);
});

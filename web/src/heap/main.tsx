import { render } from "preact";
import "../common/style.css";
import { embedded } from "../common/data";
import { applyTheme } from "../common/theme";
import { App } from "./app";
import { HeapModel } from "./model";
import "./style.css";

applyTheme();
const model = new HeapModel(embedded);
document.title = `${model.info.name.slice(0, 200)} — sextant`;
void model.load().then(() => {
  const root = document.getElementById("app")!;
  root.textContent = "";
  render(<App model={model} />, root);
});

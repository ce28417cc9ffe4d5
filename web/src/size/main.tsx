import { render } from "preact";
import "../common/style.css";
import { embedded } from "../common/data";
import { App } from "./app";
import { SizeModel } from "./model";
import "./style.css";

const model = new SizeModel(embedded);
document.title = `${model.info.name} — sextant`;
void model.loadRows().then(() => {
  const root = document.getElementById("app")!;
  root.textContent = "";
  render(<App model={model} />, root);
});

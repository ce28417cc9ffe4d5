import { render } from "preact";
import "../common/style.css";
import { embedded } from "../common/data";
import { App } from "./app";
import { ProfileModel } from "./model";
import "./style.css";

const model = new ProfileModel(embedded);
document.title = `${model.info.name} — sextant`;
void model.load().then(() => {
  const root = document.getElementById("app")!;
  root.textContent = "";
  render(<App model={model} />, root);
});

import { render } from "preact";
import "../common/style.css";
import { failureText, openSource } from "../common/served";
import { applyTheme } from "../common/theme";
import { App } from "./app";
import { ProfileModel } from "./model";
import "./style.css";

const root = document.getElementById("app")!;

applyTheme();

async function open(): Promise<void> {
  const model = new ProfileModel(await openSource(() => undefined));
  document.title = `${model.info.name} — sextant`;
  await model.load();
  root.textContent = "";
  render(<App model={model} />, root);
}

root.textContent = "Reading the profile…";
open().catch((error: unknown) => (root.textContent = failureText(error)));

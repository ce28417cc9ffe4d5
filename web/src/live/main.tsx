import { render } from "preact";
import "../common/style.css";
import { askJson, failureText, openSource } from "../common/served";
import { applyTheme } from "../common/theme";
import { App, tracePage } from "./app";
import { Figures } from "./model";
import "./style.css";

const root = document.getElementById("app")!;

async function open(): Promise<void> {
  const source = await openSource(() => undefined);
  const { name } = source.json<{ name: string }>();
  document.title = `${name.slice(0, 200)} (live) — sextant`;
  const first = await askJson<Figures>("figures");
  const trace = tracePage();
  // A page that is opened again after the end shows the trace.
  if (first.ended && trace) {
    location.replace(trace);
    return;
  }
  root.textContent = "";
  render(<App name={name} first={first} />, root);
}

applyTheme();
root.textContent = "Reading the recording…";
open().catch((error: unknown) => (root.textContent = failureText(error)));

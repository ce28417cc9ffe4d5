import { render } from "preact";
import "../common/style.css";
import { failureText, openSource } from "../common/served";
import { applyTheme } from "../common/theme";
import { App } from "./app";
import { PageInfo } from "./model";
import "./style.css";

const root = document.getElementById("app")!;

function say(text: string): void {
  root.textContent = "";
  const line = document.createElement("p");
  line.className = "reading";
  line.setAttribute("role", "status");
  line.textContent = text;
  root.append(line);
}

async function open(): Promise<void> {
  const source = await openSource((percent) => say(`Reading the symbols… ${percent} %`));
  const page = source.json<PageInfo>();
  document.title = `${page.name} — sextant`;
  root.textContent = "";
  render(<App page={page} />, root);
}

applyTheme();
say("Reading the symbols…");
open().catch((error: unknown) => say(failureText(error)));

import { render } from "preact";
import "../common/style.css";
import { embedded } from "../common/data";
import { applyTheme } from "../common/theme";
import { About } from "./api";
import { App } from "./app";
import "./style.css";

applyTheme();
document.title = "Symbols — sextant";
const root = document.getElementById("app")!;
root.textContent = "";
render(<App about={embedded.json<About>()} />, root);

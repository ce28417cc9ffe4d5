// The page of the service: its binaries, a box for text with addresses, and the reports that it keeps.
import { useEffect } from "preact/hooks";
import { ThemeSwitch } from "../common/theme";
import { About } from "./api";
import { Binaries } from "./binaries";
import { BinaryView } from "./binary";
import { Reports } from "./reports";
import { linkTo, usePageState, View, VIEWS } from "./state";
import { Symbolizer } from "./symbolizer";

const TITLES: Record<View, string> = { binaries: "Binaries", symbolize: "Symbolize", reports: "Reports" };

function Account({ about }: { about: About }) {
  if (!about.has_keys) return null;
  if (about.key === "") return <a class="account" href="/login">Log in</a>;
  return (
    <form class="account" method="post" action="/logout">
      <span class="dim">
        {about.key}
        {about.tenant !== "" && <> of {about.tenant}</>}
      </span>
      <button type="submit">Log out</button>
    </form>
  );
}

export function App({ about }: { about: About }) {
  const [state, change] = usePageState();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>("input[type=search]")?.focus();
      } else if (event.key === "Escape" && state.view === "binaries" && state.file !== "") {
        change({ file: "" }, true);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return (
    <div class="service">
      <header>
        <a class="brand" href="#">sextant</a>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a href={view === state.view ? linkTo({ view, search: "" }) : linkTo({ view })} aria-current={state.view === view ? "page" : undefined}>
              {TITLES[view]}
            </a>
          ))}
        </nav>
        <div class="side">
          <ThemeSwitch />
          <Account about={about} />
        </div>
      </header>
      <main>
        {state.view === "symbolize" ? (
          <>
            <h1>Symbolize</h1>
            <Symbolizer file={state.file} change={change} />
          </>
        ) : state.view === "reports" ? (
          <Reports state={state} change={change} mayRemove={about.scopes.includes("upload")} />
        ) : state.file !== "" ? (
          <BinaryView key={state.file} id={state.file} search={state.search} change={change} />
        ) : (
          <Binaries state={state} change={change} />
        )}
      </main>
      <footer class="dim">
        sextant {about.version} · <a href="/openapi.json">API</a> · <a href="/metrics">figures</a> · <kbd>/</kbd> search
      </footer>
    </div>
  );
}

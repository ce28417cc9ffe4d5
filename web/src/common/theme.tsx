// The switch between dark and light. What was chosen is kept, where the browser allows that; otherwise the page follows
// the system.
import { useState } from "preact/hooks";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEY = "sextant-theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY) as Theme;
    return THEMES.includes(value) ? value : "auto";
  } catch {
    return "auto";
  }
}

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Applies what was chosen before; call it before the page is drawn. */
export function applyTheme(): void {
  apply(stored());
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(stored);
  const choose = (next: Theme) => {
    setTheme(next);
    apply(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // It is not kept.
    }
  };
  return (
    <label class="theme">Theme{" "}
      <select value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
        {THEMES.map((name) => <option value={name}>{name}</option>)}
      </select>
    </label>
  );
}

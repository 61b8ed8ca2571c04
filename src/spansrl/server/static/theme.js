// Light or dark: the system's setting unless the reader chose one, and the colors of either for files.

import { byId } from "./dom.js";
import { GROUPS } from "./roles.js";

const KEY = "spansrl-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const currentTheme = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");

export function setUpTheme() {
  const chosen = stored();
  if (chosen) document.documentElement.dataset.theme = chosen;
  byId("theme").addEventListener("click", () => {
    const next = currentTheme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    store(next);
    name();
  });
  system.addEventListener("change", name);
  name();
}

// The colors of one theme, read from the style sheet through an element that has that theme.
export function colorsOf(theme) {
  const outer = document.createElement("div");
  const probe = document.createElement("div");
  outer.dataset.theme = theme;
  probe.className = "srl";
  outer.hidden = true;
  outer.append(probe);
  document.body.append(outer);
  const style = getComputedStyle(probe);
  const color = (name) => style.getPropertyValue(`--srl-${name}`).trim();
  const groups = GROUPS.map((group) => [group, { line: color(`${group}-line`), ink: color(`${group}-label`) }]);
  const quiet = theme === "dark" ? "#a3a8b4" : "#5c6270";
  const colors = { paper: color("paper"), ink: color("ink"), thread: color("thread"), quiet, ...Object.fromEntries(groups) };
  outer.remove();
  return colors;
}

function name() {
  byId("theme").textContent = currentTheme() === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", `Switch to ${currentTheme() === "dark" ? "light" : "dark"} colors`);
}

// Browsers may forbid storage; then the choice lasts as long as the page.
function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function store(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    return;
  }
}

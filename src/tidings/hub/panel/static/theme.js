/* Dark or light: as the system says, or as the person chose; the choice is remembered. */

const KEY = "tidings.theme";
const NEXT = { system: "light", light: "dark", dark: "system" };

/** The choice: system, light or dark. */
export function theme() {
  const kept = localStorage.getItem(KEY);
  return kept in NEXT ? kept : "system";
}

/** Show the page as chosen. */
export function applyTheme(choice = theme()) {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

/** Choose the next one; gives it. */
export function nextTheme() {
  const choice = NEXT[theme()];
  localStorage.setItem(KEY, choice);
  applyTheme(choice);
  return choice;
}

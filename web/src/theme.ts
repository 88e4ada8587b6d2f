/** Light or dark: what the person chose here, else what the system says. */

export type Theme = "system" | "light" | "dark";

const KEY = "ragmem.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function chosenTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system"; // storage may be turned off; the choice then lasts as long as the page
  }
}

export function showTheme(theme: Theme): void {
  const shown = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  document.documentElement.dataset.theme = shown;
  dispatchEvent(new Event("themechange"));
}

export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // See above.
  }
  showTheme(theme);
}

/** Follow the system while nothing else was chosen. */
export function followSystem(): void {
  dark.addEventListener("change", () => {
    showTheme(chosenTheme());
  });
}

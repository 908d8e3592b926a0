// Dark and light theme: the system's, unless the user selects one.

type Theme = "light" | "dark";

const KEY = "managed-by-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function current(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "dark" || chosen === "light" ? chosen : system.matches ? "dark" : "light";
}

/** Makes a button switch the theme. The choice is stored in the browser. */
export function switchThemeWith(button: HTMLElement): void {
  const label = (): void => {
    const other = current() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
    button.title = `Switch to the ${other} theme`;
  };
  button.addEventListener("click", () => {
    const other = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset["theme"] = other;
    saveTheme(other);
    label();
  });
  system.addEventListener("change", label);
  label();
}

function saveTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The browser may block storage.
  }
}

/** Restores the theme of an earlier visit. */
export function restoreTheme(): void {
  try {
    const chosen = localStorage.getItem(KEY);
    if (chosen === "dark" || chosen === "light") {
      document.documentElement.dataset["theme"] = chosen;
    }
  } catch {
    // The browser may block storage.
  }
}

// Dark and light: as the system has it, until a person chooses.

type Theme = "light" | "dark";

const KEY = "managed-by-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function current(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "dark" || chosen === "light" ? chosen : system.matches ? "dark" : "light";
}

/** Lets a button switch the theme. What was chosen is remembered on this machine and nowhere else. */
export function switchWith(button: HTMLElement): void {
  const label = (): void => {
    const other = current() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
    button.title = `Switch to the ${other} theme`;
  };
  button.addEventListener("click", () => {
    const other = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset["theme"] = other;
    remember(other);
    label();
  });
  system.addEventListener("change", label);
  label();
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser that forbids storage forgets the choice.
  }
}

/** Takes the choice of an earlier visit. */
export function recall(): void {
  try {
    const chosen = localStorage.getItem(KEY);
    if (chosen === "dark" || chosen === "light") {
      document.documentElement.dataset["theme"] = chosen;
    }
  } catch {
    // A browser may forbid storage.
  }
}

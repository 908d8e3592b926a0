// Saves the user's edits in local storage for the next visit.
import { checked, type Input } from "./input.js";

const KEY = "managed-by-edits";

/** Keeps a input. */
export function save(input: Input): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(input));
  } catch {
    // A browser that forbids storage forgets it.
  }
}

/** The input of the last visit. */
export function saved(): Input | undefined {
  try {
    const text = localStorage.getItem(KEY);
    return text === null ? undefined : checked(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Forgets it. */
export function forget(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // A browser may forbid storage.
  }
}

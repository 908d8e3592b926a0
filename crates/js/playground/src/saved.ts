// Saves the user's edits in local storage for the next visit.
import { type Input, parseInput } from "./input.js";

const KEY = "managed-by-edits";

/** Saves the input. */
export function save(input: Input): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(input));
  } catch {
    // The browser may block storage.
  }
}

/** Returns the input of the last visit. */
export function loadSaved(): Input | undefined {
  try {
    const text = localStorage.getItem(KEY);
    return text === null ? undefined : parseInput(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Deletes the saved input. */
export function forget(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // The browser may block storage.
  }
}

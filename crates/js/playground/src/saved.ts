// Saves the user's edits in local storage for the next visit.
import { checked, type Question } from "./question.js";

const KEY = "managed-by-edits";

/** Keeps a question. */
export function save(question: Question): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(question));
  } catch {
    // A browser that forbids storage forgets it.
  }
}

/** The question of the last visit. */
export function saved(): Question | undefined {
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

// What a person typed, kept for the next visit on this machine and nowhere else.
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
    // As above.
  }
}

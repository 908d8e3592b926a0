// What the package says to a question.
import { diff, lint, type Judged, type Place, validateSettings } from "managed-by/web";
import type { Question } from "./question.js";

/** The texts of a question, in which something may be wrong. */
export type Part = "object" | "oldObject" | "settings";

/** Something that keeps a question from being judged. */
export interface Trouble {
  part: Part;
  place: Place;
  message: string;
}

export interface Answer {
  /** The objects that were judged; one as a rule. */
  judged: Judged[];
  /** What could not be read, and settings that are refused. */
  troubles: Trouble[];
  /** Objects of kinds that the policy does not know. */
  unknown: string[];
}

const NOWHERE: Place = { from: 0, to: 0, line: 1, column: 1, exact: false };

/** Asks the package, for every release too. */
export function ask(question: Question): Answer {
  const { valid, problems } = validateSettings(question.settings);
  if (!valid) {
    const troubles = problems.map(({ place, message }): Trouble => ({ part: "settings", place: place ?? NOWHERE, message }));
    return { judged: [], troubles, unknown: [] };
  }
  const groups = question.groups.split(",").map((group) => group.trim());
  const options = {
    namespace: "default",
    username: question.username.trim(),
    groups: groups.filter((group) => group !== ""),
    releases: "all",
  } as const;
  const { operation, oldObject, object, settings } = question;
  const { objects, unreadable, unknown } =
    operation === "create"
      ? lint(object, settings, options)
      : diff(oldObject, object, settings, operation === "status" ? { ...options, subResource: "status" } : options);
  const troubles = unreadable.map(({ text, place, message }): Trouble => ({ part: text === "old" ? "oldObject" : "object", place, message }));
  return { judged: objects, troubles, unknown };
}

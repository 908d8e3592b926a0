// Evaluates the input with the package.
import { diff, lint, type ObjectVerdict, type Position, type Verdict, validateSettings } from "managed-by/web";
import type { Input } from "./input.js";

/** Editors of the page. */
export type Part = "object" | "oldObject" | "settings";

/** Problem that prevents the evaluation of the input. */
export interface InputProblem {
  part: Part;
  position: Position;
  message: string;
}

export interface Result {
  /** Evaluated objects, usually one. */
  evaluated: ObjectVerdict[];
  /** Parts that could not be read, and invalid settings. */
  problems: InputProblem[];
  /** Kinds of objects that the policy does not support. */
  unknown: string[];
  /** Reason why a readable object was not reviewed. */
  rejection?: string;
}

/** Returns the verdict of a release, or with `settings` the verdict under the unchanged settings. Positions are taken from the other result. */
export function verdictOf(evaluated: ObjectVerdict, release: string): Verdict {
  const chosen = evaluated.releases?.find((of) => of.release === release)?.verdict;
  if (chosen === undefined) {
    return evaluated.verdict;
  }
  const findings = chosen.findings.map((finding) => {
    const position = evaluated.verdict.findings.find(({ rule, path }) => rule === finding.rule && path === finding.path)?.position;
    return position === undefined ? finding : { ...finding, position };
  });
  return { ...chosen, findings };
}

const NOWHERE: Position = { from: 0, to: 0, line: 1, column: 1, exact: false };

/** Reviews the input, also for every release. */
export function evaluateInput(input: Input): Result {
  const { valid, problems: settingsProblems } = validateSettings(input.settings);
  if (!valid) {
    const problems = settingsProblems.map(({ position, message }): InputProblem => ({ part: "settings", position: position ?? NOWHERE, message }));
    return { evaluated: [], problems, unknown: [] };
  }
  const groups = input.groups.split(",").map((group) => group.trim());
  const options = {
    namespace: "default",
    username: input.username.trim(),
    groups: groups.filter((group) => group !== ""),
    releases: "all",
  } as const;
  const { operation, oldObject, object, settings } = input;
  const { objects, unreadable, unknown } =
    operation === "create"
      ? lint(object, settings, options)
      : diff(oldObject, object, settings, operation === "status" ? { ...options, subResource: "status" } : options);
  const problems = unreadable.map(({ text, position, message }): InputProblem => ({ part: text === "old" ? "oldObject" : "object", position, message }));
  const rejection = objects.map(({ request }) => rejectionReason(request.object, operation === "create" ? undefined : request.oldObject)).find((why) => why !== undefined);
  return rejection === undefined ? { evaluated: objects, problems, unknown } : { evaluated: [], problems, unknown, rejection };
}

/** Returns the reason why an API server would not accept the text as an object. */
function rejectionReason(object: object | null | undefined, old: object | null | undefined): string | undefined {
  const is = nameOf(object);
  if (is.name === "") {
    return is.generateName
      ? "The object has generateName and no name: the API server makes the name before it evaluates. Write a name to evaluate the rest."
      : "The object has no metadata.name.";
  }
  if (old === null || old === undefined) {
    return undefined;
  }
  const was = nameOf(old);
  for (const part of ["kind", "namespace", "name"] as const) {
    if (is[part] !== was[part]) {
      return `An update cannot change the ${part}: the old object has ${JSON.stringify(was[part])}, the object ${JSON.stringify(is[part])}.`;
    }
  }
  return undefined;
}

function nameOf(object: object | null | undefined): { kind: string; namespace: string; name: string; generateName: boolean } {
  const { kind, metadata } = (object ?? {}) as { kind?: unknown; metadata?: Record<string, unknown> | null };
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const { name, namespace, generateName } = metadata ?? {};
  return { kind: text(kind), namespace: text(namespace) || "default", name: text(name), generateName: text(generateName) !== "" };
}

// Evaluates the input with the package.
import { type AdmissionRequest, diff, type Finding as PackageFinding, lint, type LintOptions, type LintResult, type Position, review, validateSettings } from "managed-by/web";
import type { Input } from "./input.js";
import { type EvaluatedObject, outcomeOf, verdictOf } from "./verdict.js";

/** Editors of the page. */
export type EditorId = "object" | "oldObject" | "settings";

/** A finding with its position in the text. */
export type Finding = PackageFinding & { position?: Position | undefined };

/** Problem that prevents the evaluation of a part of the input. */
export interface InputProblem {
  editor: EditorId;
  position: Position;
  message: string;
}

export type Outcome = "Allowed" | "Warned" | "Denied" | "Not evaluated" | "Invalid input";

/** An evaluated object of the input, or a part of it that cannot be read. */
export interface Entry {
  kind: string;
  name: string;
  isStatus: boolean;
  outcome: Outcome;
  /** Message or first warning of the verdict, or the reason why the object is not evaluated. */
  message: string;
  findings: Finding[];
  /** True if a part of the object was not evaluated. */
  isIncomplete: boolean;
  position: Position;
}

/** Evaluation of an input. Long lists are cut, because the page would need time for them while the user types. */
export interface InputEvaluation {
  /** Objects in the order of the text, at most `MAX_LISTED`. If there are more, `Allowed` ones are omitted, except the current one. */
  entries: Entry[];
  /** Number of all objects with each outcome. */
  counts: Partial<Record<Outcome, number>>;
  /** Findings of all objects. */
  findings: Finding[];
  /** Entry at the cursor, if there is one. */
  current?: Entry | undefined;
  /** Verdict of the current entry for the selected release, unless it is not evaluated. */
  verdict?: EvaluatedObject | undefined;
  /** Problems in all editors. */
  problems: InputProblem[];
  /** Kinds without rules. */
  unsupported: string[];
}

/** Option for no release: the settings are used unchanged. */
export const SETTINGS = "settings";

/** Maximum number of objects or problems, and of findings, that the page shows. */
export const MAX_LISTED = 100;
const MAX_FINDINGS = 500;

/** Namespace of objects without one. */
const NAMESPACE = "default";

const START: Position = { from: 0, to: 0, line: 1, column: 1, exact: false };

/** The place to show: the object at a position of the text, or the update of its status, if both are evaluated. */
export interface Cursor {
  position: number;
  isStatus: boolean;
}

/** Evaluates an input, and shows the object at the cursor. */
export function evaluate(input: Input, cursor: Cursor): InputEvaluation {
  const { valid, problems: invalid } = validateSettings(input.settings);
  if (!valid) {
    return { entries: [], counts: {}, findings: [], unsupported: [], problems: invalid.map(({ position, message }) => ({ editor: "settings", position: position ?? START, message })) };
  }
  const { objects, errors, unsupported } = evaluateText(input);
  const problems = errors.map(({ text, position, message }): InputProblem => ({ editor: text === "old" ? "oldObject" : "object", position, message }));
  const evaluated = objects.map((object): [Entry, EvaluatedObject?] => [entryOf(object, input), object]);
  const unread = problems
    .filter(({ editor }) => editor === "object")
    .map(({ position, message }): [Entry] => [{ kind: "", name: "", isStatus: false, outcome: "Invalid input", message, findings: [], isIncomplete: true, position }]);
  const all = [...evaluated, ...unread].sort(([a], [b]) => a.position.from - b.position.from);
  const entries = all.map(([entry]) => entry);
  const current = entryAt(entries, cursor);
  const shown = all.find(([entry]) => entry === current)?.[1];
  const isEvaluated = shown !== undefined && current?.outcome !== "Not evaluated";
  return limitLists({ entries, counts: {}, findings: [], current, verdict: isEvaluated ? { ...shown, verdict: verdictOf(shown, input.release ?? SETTINGS) } : undefined, problems, unsupported });
}

/** Returns the entry at the cursor: the last one that begins before it. */
export function entryAt(entries: Entry[], { position, isStatus }: Cursor): Entry | undefined {
  const last = entries.findLast((entry) => entry.position.from <= position) ?? entries[0];
  return entries.find((entry) => entry.position.from === last?.position.from && entry.isStatus === isStatus) ?? last;
}

/** Counts the objects, and cuts long lists. */
function limitLists(evaluation: InputEvaluation): InputEvaluation {
  const { entries, current, problems, unsupported } = evaluation;
  const counts: InputEvaluation["counts"] = unsupported.length === 0 ? {} : { "Not evaluated": unsupported.length };
  for (const { outcome } of entries) {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  const others = new Set(entries.filter((entry) => entry !== current && entry.outcome !== "Allowed").slice(0, MAX_LISTED - 1));
  const listed = entries.length > MAX_LISTED ? entries.filter((entry) => entry === current || others.has(entry)) : entries;
  const findings = [...(current?.findings ?? []), ...entries.flatMap((entry) => (entry === current ? [] : entry.findings))];
  return { ...evaluation, counts, entries: listed, findings: findings.slice(0, MAX_FINDINGS), problems: problems.slice(0, MAX_LISTED) };
}

type Response = Pick<LintResult, "errors" | "unsupported"> & { objects: EvaluatedObject[] };

/** Returns the request in an AdmissionReview, as PolicyServer logs it. */
function requestIn(text: string): AdmissionRequest | undefined {
  if (!text.includes("AdmissionReview")) {
    return undefined;
  }
  try {
    const { kind, request } = JSON.parse(text) as { kind?: unknown; request?: AdmissionRequest };
    return kind === "AdmissionReview" && typeof request?.kind === "object" ? request : undefined;
  } catch {
    return undefined;
  }
}

function evaluateText({ operation, object: text, oldObject, settings, ...user }: Input): Response {
  // It contains the operation, the user and both objects.
  const request = requestIn(text);
  if (request !== undefined) {
    return { objects: [{ request, verdict: review(request, settings), position: START, positions: {} }], errors: [], unsupported: [] };
  }
  const groups = user.groups.split(",").map((group) => group.trim());
  const shared: LintOptions = { namespace: NAMESPACE, username: user.username.trim(), groups: groups.filter((group) => group !== "") };
  const resultFor = (options: LintOptions): LintResult => {
    if (operation === "create") {
      return lint(text, settings, options);
    }
    return diff(oldObject, text, settings, operation === "status" ? { ...options, subResource: "status" } : options);
  };
  // The policy's verdict, and that of each release.
  const [result, all] = [resultFor(shared), resultFor({ ...shared, releases: "all" })];
  return { ...result, objects: result.objects.map((evaluated, index) => ({ ...evaluated, byRelease: all.objects[index]?.verdict })) };
}

function entryOf(evaluated: EvaluatedObject, input: Input): Entry {
  const { request, position, positions } = evaluated;
  const about = { kind: request.kind.kind, name: request.name ?? "", isStatus: request.subResource === "status", position };
  const reason = rejectionReason(request.object, input.operation === "create" ? undefined : request.oldObject);
  if (reason !== undefined) {
    return { ...about, outcome: "Not evaluated", message: reason, findings: [], isIncomplete: true };
  }
  const verdict = verdictOf(evaluated, input.release ?? SETTINGS);
  const findings = verdict.findings.map((finding) => ({ ...finding, position: positions[finding.path] }));
  return { ...about, outcome: outcomeOf(verdict), message: verdict.message ?? verdict.warnings[0] ?? "", findings, isIncomplete: verdict.unchecked.length > 0 };
}

/** Returns the reason why an API server would not accept the text as an object. */
function rejectionReason(object: object | null | undefined, old: object | null | undefined): string | undefined {
  const identity = identityOf(object);
  if (identity.name === "") {
    return identity.hasGenerateName
      ? "The object has generateName and no name: the API server generates the name before validating admission. Set metadata.name to evaluate the object."
      : "The object has no metadata.name.";
  }
  if (old === null || old === undefined) {
    return undefined;
  }
  const oldIdentity = identityOf(old);
  for (const field of ["kind", "namespace", "name"] as const) {
    if (identity[field] !== oldIdentity[field]) {
      return `An update cannot change the ${field}: the old object has ${JSON.stringify(oldIdentity[field])}, the object ${JSON.stringify(identity[field])}.`;
    }
  }
  return undefined;
}

function identityOf(object: object | null | undefined): { kind: string; namespace: string; name: string; hasGenerateName: boolean } {
  const { kind, metadata } = (object ?? {}) as { kind?: unknown; metadata?: Record<string, unknown> | null };
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const { name, namespace, generateName } = metadata ?? {};
  return { kind: text(kind), namespace: text(namespace) || NAMESPACE, name: text(name), hasGenerateName: text(generateName) !== "" };
}

// Evaluates the input with the package, one document at a time.
import { type AdmissionRequest, diff, type DiffOptions, type Finding as PackageFinding, lint, type LintOptions, type LintResult, type Position, review, validateSettings } from "managed-by/web";
import { documentAt, documentsOf, type YamlDocument } from "./documents.js";
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

/** Object in the input, or a document without a readable one. */
export interface Entry {
  outcome: Outcome;
  kind: string;
  name: string;
  /** True for an update of the status. A text that changes an object and its status needs two updates. */
  isStatus: boolean;
  /** First message, or the reason why the object is not evaluated. */
  message: string;
  findings: Finding[];
  /** True if a part of the object was not evaluated. */
  isIncomplete: boolean;
  /** Position of the document. */
  from: number;
  to: number;
  line: number;
  /** Index of the object in its document. */
  ordinal: number;
}

/** InputEvaluation of an input. Long lists are cut, because the page would need time for them while the user types. */
export interface InputEvaluation {
  /** Objects in the order of the text, at most `MAX_LISTED`. If there are more, `Allowed` ones are omitted, except the current one. */
  entries: Entry[];
  /** Number of all objects with each outcome. */
  counts: Partial<Record<Outcome, number>>;
  /** Findings of all objects. */
  findings: Finding[];
  /** Entry at the cursor, if there is one. */
  current?: Entry;
  /** Verdict of the current entry for the selected release, unless it is not evaluated. */
  verdict?: EvaluatedObject;
  /** Problems in all editors. */
  problems: InputProblem[];
}

/** Object to display: the one at a position, or another one in the same document. */
export interface Cursor {
  position: number;
  ordinal: number;
}

/** Option for no release: the settings are used unchanged. */
export const SETTINGS = "settings";

const START: Position = { from: 0, to: 0, line: 1, column: 1, exact: false };

/** Result of a document. Positions are relative to the document. */
interface DocumentResult {
  entries: Omit<Entry, "from" | "to" | "line" | "ordinal">[];
  problems: Omit<InputProblem, "editor">[];
}

/** Evaluates inputs. Reuses the results of unchanged documents, except the one at the cursor, until a field other than the objects changes. */
export class Evaluator {
  /** Everything that the results depend on, except the documents. */
  #context = "";
  #results = new Map<string, DocumentResult>();
  /** Keys of the objects in a document. */
  #objectKeys = new Map<string, string[]>();

  evaluate(input: Input, cursor: Cursor): InputEvaluation {
    const { valid, problems } = validateSettings(input.settings);
    if (!valid) {
      return { entries: [], counts: {}, findings: [], problems: problems.map(({ position, message }) => ({ editor: "settings", position: position ?? START, message })) };
    }
    const { object: _, oldObject: __, ...others } = input;
    const context = JSON.stringify(others);
    if (context !== this.#context) {
      this.#context = context;
      this.#results.clear();
      this.#objectKeys.clear();
    }
    return limitLists(this.#evaluateDocuments(input, cursor));
  }

  #evaluateDocuments(input: Input, cursor: Cursor): InputEvaluation {
    const documents = documentsOf(input.object);
    const oldTextOf = input.operation === "create" ? () => "" : this.#pairWithOld(input, documents);
    const at = documentAt(documents, cursor.position);
    const results = new Map<string, DocumentResult>();
    const evaluation: InputEvaluation = { entries: [], counts: {}, findings: [], problems: input.operation === "create" ? [] : problemsOfOld(input) };
    documents.forEach((document, index) => {
      const oldText = oldTextOf(document);
      const key = `${oldText}\0${document.text}`;
      const response = index === at ? evaluateDocument(input, oldText, document.text) : undefined;
      const result = (response === undefined ? this.#results.get(key) : undefined) ?? summarize(response ?? evaluateDocument(input, oldText, document.text), input);
      results.set(key, result);
      const first = evaluation.entries.length;
      const { from, to, linesBefore } = document;
      const move = (position: Position): Position => ({ ...position, from: position.from + from, to: position.to + from, line: position.line + linesBefore });
      const moved = (finding: Finding): Finding => (finding.position === undefined ? finding : { ...finding, position: move(finding.position) });
      evaluation.problems.push(...result.problems.map(({ position, message }): InputProblem => ({ editor: "object", position: move(position), message })));
      // The separator is the first line of a document.
      const line = linesBefore + (index === 0 ? 1 : 2);
      evaluation.entries.push(...result.entries.map((entry, ordinal) => ({ ...entry, findings: entry.findings.map(moved), from, to, line, ordinal })));
      const current = evaluation.entries[first + cursor.ordinal] ?? evaluation.entries[first];
      if (response !== undefined && current !== undefined) {
        evaluation.current = current;
        const evaluated = response.objects[current.ordinal];
        if (evaluated !== undefined && current.outcome !== "Not evaluated") {
          const verdict = verdictOf(evaluated, input.release ?? SETTINGS);
          evaluation.verdict = { ...evaluated, verdict };
        }
      }
    });
    this.#results = results;
    const [first] = evaluation.entries;
    // The document at the cursor may contain only comments.
    return evaluation.current === undefined && first !== undefined ? this.#evaluateDocuments(input, { position: first.from, ordinal: 0 }) : evaluation;
  }

  /** Returns a function that returns the old documents with the objects of a document. Two single documents are compared whatever their names. */
  #pairWithOld(input: Input, documents: YamlDocument[]): (document: YamlDocument) => string {
    const oldDocuments = documentsOf(input.oldObject);
    if (documents.length === 1 && oldDocuments.length === 1) {
      return () => input.oldObject;
    }
    const byKey = new Map<string, string>();
    for (const { text } of oldDocuments) {
      for (const key of this.#keysOf(text, input)) {
        byKey.set(key, text);
      }
    }
    return ({ text }) => [...new Set(this.#keysOf(text, input).flatMap((key) => byKey.get(key) ?? []))].join("\n---\n");
  }

  #keysOf(text: string, input: Input): string[] {
    const known = this.#objectKeys.get(text);
    if (known !== undefined) {
      return known;
    }
    const keys = lint(text, input.settings, { namespace: NAMESPACE }).objects.map(({ request }) => JSON.stringify([request.kind.group, request.kind.kind, request.namespace, request.name]));
    this.#objectKeys.set(text, keys);
    return keys;
  }
}

/** Maximum number of objects or problems, and of findings, that the page shows. */
export const MAX_LISTED = 100;
const MAX_FINDINGS = 500;

/** Counts the objects, and cuts long lists. */
function limitLists(evaluation: InputEvaluation): InputEvaluation {
  const { entries, current, problems } = evaluation;
  const counts: InputEvaluation["counts"] = {};
  for (const { outcome } of entries) {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  const others = new Set(entries.filter((entry) => entry !== current && entry.outcome !== "Allowed").slice(0, MAX_LISTED - 1));
  const listed = entries.length > MAX_LISTED ? entries.filter((entry) => entry === current || others.has(entry)) : entries;
  const findings = [...(current?.findings ?? []), ...entries.flatMap((entry) => (entry === current ? [] : entry.findings))];
  return { ...evaluation, counts, entries: listed, findings: findings.slice(0, MAX_FINDINGS), problems: problems.slice(0, MAX_LISTED) };
}

/** Namespace of objects without one. */
const NAMESPACE = "default";

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

function evaluateDocument(input: Input, oldText: string, text: string): Response {
  // It contains the operation, the user and both objects.
  const request = requestIn(text);
  if (request !== undefined) {
    return { objects: [{ request, verdict: review(request, input.settings), positions: {} }], errors: [], unsupported: [] };
  }
  const groups = input.groups.split(",").map((group) => group.trim());
  const shared: LintOptions = { namespace: NAMESPACE, username: input.username.trim(), groups: groups.filter((group) => group !== "") };
  const evaluate = (options: LintOptions): LintResult => {
    if (input.operation === "create") {
      return lint(text, input.settings, options);
    }
    const diffOptions: DiffOptions = input.operation === "status" ? { ...options, subResource: "status" } : options;
    return diff(oldText, text, input.settings, diffOptions);
  };
  // The policy's verdict, and that of each release.
  const [result, all] = [evaluate(shared), evaluate({ ...shared, releases: "all" })];
  return { ...result, objects: result.objects.map((evaluated, index) => ({ ...evaluated, byRelease: all.objects[index]?.verdict })) };
}

function problemsOfOld({ oldObject, settings }: Input): InputProblem[] {
  return diff(oldObject, "", settings).errors.map(({ position, message }) => ({ editor: "oldObject", position, message }));
}

function summarize({ objects, errors, unsupported }: Response, input: Input): DocumentResult {
  const problems = errors.filter(({ text }) => text === "new").map(({ position, message }) => ({ position, message }));
  const entries: DocumentResult["entries"] = objects.map((evaluated) => {
    const { request } = evaluated;
    const about = { kind: request.kind.kind, name: request.name ?? "", isStatus: request.subResource === "status" };
    const reason = rejectionReason(request.object, input.operation === "create" ? undefined : request.oldObject);
    if (reason !== undefined) {
      return { ...about, outcome: "Not evaluated", message: reason, findings: [], isIncomplete: true };
    }
    const verdict = verdictOf(evaluated, input.release ?? SETTINGS);
    const findings = verdict.findings.map((finding) => ({ ...finding, position: evaluated.positions[finding.path] }));
    return { ...about, outcome: outcomeOf(verdict), message: verdict.message ?? verdict.warnings[0] ?? "", findings, isIncomplete: verdict.unchecked.length > 0 };
  });
  for (const kind of unsupported) {
    entries.push({ kind, name: "", isStatus: false, outcome: "Not evaluated", message: `The policy does not support ${kind}: it allows the object, with a warning.`, findings: [], isIncomplete: true });
  }
  if (entries.length === 0 && problems[0] !== undefined) {
    entries.push({ kind: "", name: "", isStatus: false, outcome: "Invalid input", message: problems[0].message, findings: [], isIncomplete: true });
  }
  return { entries, problems };
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

import catalogue from "../generated/catalogue.json" with { type: "json" };
import type { Settings } from "../generated/settings.js";
import type { Kind, ReplayStep, Rule, RuleId, RulePage, SettingsVerdict, Verdict } from "../generated/types.js";
import { ManagedByError } from "./error.js";
import { guarded, read, text } from "./module.js";
import { nearest } from "./near.js";
import { parseOptions } from "./options.js";
import { parts, replaying } from "./replay.js";
import type { AdmissionRequest, AdmissionReview, DiffOptions, LintOptions, ReplayInput, ReplayOptions } from "./request.js";
import type { Lint, ReplayTally } from "./summary.js";
import { withSummary } from "./sums.js";

/**
 * Reviews an admission request, as the policy does in PolicyServer.
 *
 * A malformed request is denied with code 400 and the path of the error. The Job of a pod is not looked up, because there is no cluster.
 *
 * @param request the request, or the `AdmissionReview` that contains it; an object or JSON text
 * @param settings the policy's settings as an object, JSON or YAML; by default `{}`
 * @throws {ManagedByError} `ERR_BAD_SETTINGS`, `ERR_ARGUMENT`
 */
export function review(request: AdmissionRequest | AdmissionReview | string, settings: Settings | string = {}): Verdict {
  const question = text(request, "request");
  const chosen = text(settings, "settings");
  return read(guarded((module) => module.review(question, chosen)));
}

/**
 * Reviews the objects in a text as creates, without their status. The text is YAML with one or more documents, JSON, or lists.
 * An object that has a status and a `uid`, `resourceVersion` or `creationTimestamp` is reviewed as a stored object. In `lint`, `diff` and
 * `replay`, rules that are `off` in `rules()` deny unless the settings change them, because no API server validates the text afterwards.
 *
 * @param yamlOrJson the text, or an object
 * @param settings the policy's settings
 * @param options the user, the namespace, and whether to evaluate every Kubernetes release
 * @throws {ManagedByError} `ERR_BAD_SETTINGS`, `ERR_ARGUMENT`; errors in the text are in `unreadable`
 */
export function lint(yamlOrJson: string | object, settings: Settings | string = {}, options: LintOptions = {}): Lint {
  const now = text(yamlOrJson, "yamlOrJson");
  const chosen = text(settings, "settings");
  const parsed = parseOptions(options, false);
  return withSummary(read(guarded((module) => module.lint(now, chosen, parsed.create(module)))));
}

/**
 * Reviews the updates from the objects in one text to the objects in another. If each text has one object, these are a pair. Otherwise
 * objects with the same kind, namespace and name are.
 *
 * @param old the stored objects
 * @param yamlOrJson the new objects
 * @param settings the policy's settings
 * @param options the options of `lint`, and whether the status is updated
 * @throws {ManagedByError} `ERR_BAD_SETTINGS`, `ERR_ARGUMENT`
 */
export function diff(old: string | object, yamlOrJson: string | object, settings: Settings | string = {}, options: DiffOptions = {}): Lint {
  const before = text(old, "old");
  const now = text(yamlOrJson, "yamlOrJson");
  const chosen = text(settings, "settings");
  const parsed = parseOptions(options, true);
  return withSummary(read(guarded((module) => module.diff(before, now, parsed.isStatus, chosen, parsed.create(module)))));
}

/**
 * Replays recorded history: a stream of watch events, `kubectl get --watch --output json`, or an audit log of level RequestResponse.
 * Two states of one object are the update between them.
 *
 * ```js
 * for await (const step of replay(createReadStream("jobs.ndjson"))) {
 *   console.log(step.line, step.object.name, step.verdict?.message ?? step.message);
 * }
 * ```
 *
 * @param lines the whole text; chunks of bytes or text of any size; lines of text; or objects. Chunks of text are joined. Lines without
 *   line ends are recognized if they are complete documents or in an array
 * @param settings the policy's settings
 * @param options whether to evaluate every Kubernetes release
 * @returns requests with findings and documents that could not be reviewed, in order, and totals at the end
 * @throws {ManagedByError} `ERR_BAD_SETTINGS`, `ERR_ARGUMENT`
 */
export function replay(
  lines: string | AsyncIterable<ReplayInput> | Iterable<ReplayInput>,
  settings: Settings | string = {},
  options: ReplayOptions = {},
): AsyncGenerator<ReplayStep, ReplayTally, void> {
  return replaying(parts(lines), text(settings, "settings"), options);
}

/**
 * Validates settings, as PolicyServer does when it starts.
 *
 * @param settings an object, JSON or YAML; or a policy's manifest that contains settings. Errors are in `problems`
 * @throws {ManagedByError} `ERR_ARGUMENT`
 */
export function validateSettings(settings: unknown): SettingsVerdict {
  const chosen = text(settings, "settings");
  return read(guarded((module) => module.validateSettings(chosen)));
}

/** Returns all rules, in the order in which findings are reported. */
export function rules(): Rule[] {
  return pages().map(({ id, title, enforcement, upstream, siteSpecific, releases }) => ({
    id,
    title,
    enforcement,
    upstream,
    siteSpecific,
    releases,
  }));
}

/**
 * Returns a rule with its documentation.
 *
 * @param id for example `managed-by/immutable`
 * @throws {ManagedByError} `ERR_UNKNOWN_RULE`, with a suggestion
 */
export function explain(id: RuleId | (string & {})): RulePage {
  const page = pages().find((rule) => rule.id === id);
  if (page === undefined) {
    const meant = typeof id === "string" ? suggested(id) : undefined;
    const hint = meant === undefined ? "rules() lists all of them" : `did you mean ${JSON.stringify(meant)}?`;
    throw new ManagedByError("ERR_UNKNOWN_RULE", "id", `no rule has the id ${JSON.stringify(id)}: ${hint}`);
  }
  return page;
}

/** Returns the nearest rule id, also for a name without its family. */
function suggested(id: string): string | undefined {
  const ids = (catalogue.rules as { id: string }[]).map((rule) => rule.id);
  const name = (of: string): string => of.slice(of.lastIndexOf("/") + 1);
  const near = nearest(id, ids);
  if (near !== undefined) {
    return near;
  }
  const named = nearest(name(id), ids.map(name));
  return ids.find((of) => name(of) === named);
}

/** Returns the kinds with a `managedBy` field. A kind whose versions differ has several entries. */
export function kinds(): Kind[] {
  return structuredClone(catalogue.kinds as Kind[]);
}

/** Returns the JSON Schema of the settings, for editors. */
export function settingsSchema(): Record<string, unknown> {
  return structuredClone(catalogue.settingsSchema);
}

/** Returns the supported values of `kubernetes_version`, oldest first. */
export function releases(): string[] {
  return [...catalogue.releases];
}

/** Copies a value, so that callers cannot change the original. */
function pages(): RulePage[] {
  return structuredClone(catalogue.rules as unknown as RulePage[]);
}

export { ManagedByError };
export type { ErrorCode } from "./error.js";
export type * from "../generated/settings.js";
export type * from "../generated/types.js";
export type * from "./request.js";
export type * from "./summary.js";

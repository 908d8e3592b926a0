import catalog from "../generated/catalog.json" with { type: "json" };
import type { Evaluation } from "../generated/evaluation.js";
import type { Settings } from "../generated/settings.js";
import type { Kind, ReplayStep, Rule, RuleId, RulePage, SettingsVerdict } from "../generated/types.js";
import { invalidArgument, ManagedByError } from "./error.js";
import { callModule, parseResponse, toText } from "./module.js";
import { onlyReleases, parseOptions } from "./options.js";
import { parseInput, replayInput } from "./replay.js";
import type { AdmissionRequest, AdmissionReview, DiffOptions, LintOptions, ReplayInput, ReplayOptions, ReviewOptions } from "./request.js";
import type { LintResult, ReplaySummary } from "./summary.js";
import { completeResult } from "./summarize.js";

/**
 * Reviews an admission request, like the policy in PolicyServer.
 *
 * A malformed request is denied with code 400 and the path of the error. The Job of a pod is not looked up, because there is no cluster.
 *
 * @param request the request, or the `AdmissionReview` that contains it; an object or JSON text
 * @param settings the policy's settings as an object, JSON or YAML; by default `{}`
 * @param options the Kubernetes releases to evaluate instead of the settings' `kubernetes_version`
 * @throws {ManagedByError} `ERR_INVALID_SETTINGS`, `ERR_INVALID_ARGUMENT`
 */
export function review(request: AdmissionRequest | AdmissionReview | string, settings: Settings | string = {}, options: ReviewOptions = {}): Evaluation {
  const requestText = toText(request, "request");
  const settingsText = toText(settings, "settings");
  const selected = onlyReleases(options);
  return parseResponse(callModule((module) => module.review(requestText, settingsText, selected)));
}

/**
 * Reviews the objects in a manifest as creates, and ignores their status. The manifest is YAML with one or more documents, or JSON; lists
 * are expanded. An object that has a status and a `uid`, `resourceVersion` or `creationTimestamp` is reviewed as a stored object. In
 * `lint`, `diff` and `replay`, rules that are `off` in `rules()` deny unless the settings change them, because no API server validates the
 * text afterwards.
 *
 * @param yamlOrJson the text, or an object
 * @param settings the policy's settings
 * @param options the user, the namespace, and the Kubernetes releases to evaluate
 * @throws {ManagedByError} `ERR_INVALID_SETTINGS`, `ERR_INVALID_ARGUMENT`; errors in the text are in `errors` of the result
 */
export function lint(yamlOrJson: string | object, settings: Settings | string = {}, options: LintOptions = {}): LintResult {
  const newText = toText(yamlOrJson, "yamlOrJson");
  const settingsText = toText(settings, "settings");
  const parsed = parseOptions(options, false);
  return completeResult(parseResponse(callModule((module) => module.lint(newText, settingsText, parsed.toModule(module)))));
}

/**
 * Reviews the updates from the objects in `old` to the objects in `yamlOrJson`. If each contains one object, these are compared. Otherwise,
 * objects are matched by kind, namespace and name.
 *
 * @param old the stored objects
 * @param yamlOrJson the new objects
 * @param settings the policy's settings
 * @param options the options of `lint`, and whether the update is to the status subresource
 * @throws {ManagedByError} `ERR_INVALID_SETTINGS`, `ERR_INVALID_ARGUMENT`
 */
export function diff(old: string | object, yamlOrJson: string | object, settings: Settings | string = {}, options: DiffOptions = {}): LintResult {
  const oldText = toText(old, "old");
  const newText = toText(yamlOrJson, "yamlOrJson");
  const settingsText = toText(settings, "settings");
  const parsed = parseOptions(options, true);
  return completeResult(parseResponse(callModule((module) => module.diff(oldText, newText, parsed.isStatus, settingsText, parsed.toModule(module)))));
}

/**
 * Replays recorded history: a stream of watch events, `kubectl get --watch --output json`, or an audit log of level RequestResponse.
 * Consecutive states of an object are reviewed as an update.
 *
 * ```js
 * for await (const step of replay(createReadStream("jobs.ndjson"))) {
 *   console.log(step.line, step.object.name, step.verdict?.message ?? step.message);
 * }
 * ```
 *
 * @param lines the complete input as a string, chunks of bytes or strings of any size, single lines, or objects. String chunks are
 *   concatenated. Lines without line breaks are accepted if each is a complete document or if they are in an array
 * @param settings the policy's settings
 * @param options the Kubernetes releases to evaluate
 * @returns requests with findings and documents that could not be reviewed, in order, and totals at the end
 * @throws {ManagedByError} `ERR_INVALID_SETTINGS`, `ERR_INVALID_ARGUMENT`
 */
export function replay(
  lines: string | AsyncIterable<ReplayInput> | Iterable<ReplayInput>,
  settings: Settings | string = {},
  options: ReplayOptions = {},
): AsyncGenerator<ReplayStep, ReplaySummary, void> {
  return replayInput(parseInput(lines), toText(settings, "settings"), options);
}

/**
 * Validates settings, as PolicyServer does when it starts.
 *
 * @param settings an object, JSON or YAML; or a policy's manifest that contains settings. Errors are in `problems`
 * @throws {ManagedByError} `ERR_INVALID_ARGUMENT`
 */
export function validateSettings(settings: unknown): SettingsVerdict {
  const settingsText = toText(settings, "settings");
  return parseResponse(callModule((module) => module.validateSettings(settingsText)));
}

/** Returns all rules, in the order in which findings are reported. */
export function rules(): Rule[] {
  return rulePages().map(({ id, title, enforcement, upstream, clusterSpecific, releases }) => ({
    id,
    title,
    enforcement,
    upstream,
    clusterSpecific,
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
  const page = rulePages().find((rule) => rule.id === id);
  if (page === undefined) {
    const suggestion = typeof id === "string" ? callModule((module) => module.nearestRule(id)) : undefined;
    const hint = suggestion === undefined ? "rules() lists all of them" : `did you mean ${JSON.stringify(suggestion)}?`;
    throw new ManagedByError("ERR_UNKNOWN_RULE", "id", `no rule has the id ${JSON.stringify(id)}; ${hint}`);
  }
  return page;
}

/** Returns the kinds with a `managedBy` field. A kind whose versions differ has several entries. */
export function kinds(): Kind[] {
  return structuredClone(catalog.kinds as Kind[]);
}

/** Returns the JSON Schema of the settings, for editors. */
export function settingsSchema(): Record<string, unknown> {
  return structuredClone(catalog.settingsSchema);
}

/** Returns the supported values of `kubernetes_version`, oldest first. */
export function releases(): string[] {
  return (catalog.releases as [string, string][]).map(([release]) => release);
}

/**
 * Returns the releases in which the feature gate `JobManagedBy` is on by default, 1.32 and newer, oldest first. Without the gate, 1.30 and 1.31
 * drop `managedBy` from new Jobs.
 */
export function releasesWithManagedByOnByDefault(): string[] {
  return [...catalog.managedByOnByDefault];
}

/**
 * Returns the patch releases that a release stands for: `1.33.3 to 1.33.5` for `1.33.5`.
 *
 * @param release a release from `releases()`
 * @throws {ManagedByError} `ERR_INVALID_ARGUMENT`
 */
export function releaseRange(release: string): string {
  const range = (catalog.releases as [string, string][]).find(([name]) => name === release)?.[1];
  if (range === undefined) {
    throw invalidArgument("release", `expected one of ${releases().join(", ")}`);
  }
  return range;
}

/** Returns a copy of all rule pages, so that callers cannot modify the original. */
function rulePages(): RulePage[] {
  return structuredClone(catalog.rules as unknown as RulePage[]);
}

export { ManagedByError };
export type { ErrorCode } from "./error.js";
export type * from "../generated/evaluation.js";
export type * from "../generated/settings.js";
export type * from "../generated/types.js";
export type * from "./request.js";
export type * from "./summary.js";

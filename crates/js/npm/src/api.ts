import catalogue from "../generated/catalogue.json" with { type: "json" };
import type { Settings } from "../generated/settings.js";
import type { Kind, ReplayStep, Rule, RuleId, RulePage, SettingsVerdict, Verdict } from "../generated/types.js";
import { ManagedByError } from "./error.js";
import { guarded, read, text } from "./module.js";
import { nearest } from "./near.js";
import { asked } from "./options.js";
import { parts, replaying } from "./replay.js";
import type { AdmissionRequest, AdmissionReview, DiffOptions, LintOptions, ReplayInput, ReplayOptions } from "./request.js";
import type { Lint, ReplayTally } from "./summary.js";
import { summedUp } from "./sums.js";

/**
 * Judges an admission request, as the policy does in PolicyServer.
 *
 * A request that makes no sense gets the policy's own answer: denied, code 400, with the place that is wrong.
 * Pods are not looked up: their Job is in a cluster.
 *
 * @param request the request, or the `AdmissionReview` that holds it; an object or JSON text
 * @param settings the policy's settings, as an object, JSON or YAML; without them its defaults
 * @throws {ManagedByError} `ERR_BAD_SETTINGS`, `ERR_ARGUMENT`
 */
export function review(request: AdmissionRequest | AdmissionReview | string, settings: Settings | string = {}): Verdict {
  const question = text(request, "request");
  const chosen = text(settings, "settings");
  return read(guarded((module) => module.review(question, chosen)));
}

/**
 * Judges the objects in a text as if they were created, without their status: YAML with several documents, JSON, lists. What has a
 * status and a `uid`, `resourceVersion` or `creationTimestamp` is judged as it is stored. No API server stands behind
 * a text: the rules that the policy leaves to it, `off` in `rules()`, deny here and in `diff` and `replay`, unless the settings say otherwise.
 *
 * @param yamlOrJson the text, or an object
 * @param settings the policy's settings
 * @param options who creates them, where, and whether every release of Kubernetes is asked
 * @throws {ManagedByError} `ERR_BAD_SETTINGS`, `ERR_ARGUMENT`; what cannot be read in the text is answered, not thrown
 */
export function lint(yamlOrJson: string | object, settings: Settings | string = {}, options: LintOptions = {}): Lint {
  const now = text(yamlOrJson, "yamlOrJson");
  const chosen = text(settings, "settings");
  const how = asked(options, false);
  return summedUp(read(guarded((module) => module.lint(now, chosen, how.make(module)))));
}

/**
 * Judges the updates from the objects in one text to those in another. Two objects are a pair; of more, those of one kind,
 * namespace and name.
 *
 * @param old the objects as they are stored
 * @param yamlOrJson the objects as they are to be
 * @param settings the policy's settings
 * @param options as for `lint`, and whether it is the status that is updated
 * @throws {ManagedByError} as `lint`
 */
export function diff(old: string | object, yamlOrJson: string | object, settings: Settings | string = {}, options: DiffOptions = {}): Lint {
  const before = text(old, "old");
  const now = text(yamlOrJson, "yamlOrJson");
  const chosen = text(settings, "settings");
  const how = asked(options, true);
  return summedUp(read(guarded((module) => module.diff(before, now, how.isStatus, chosen, how.make(module)))));
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
 * @param lines the whole text; chunks of bytes or of text, of any size; or lines of text, or objects, one after another. Text that is divided
 *   anywhere is put together again. Lines without their ends are told from that by being whole documents, or by standing in an array
 * @param settings the policy's settings
 * @param options whether every release of Kubernetes is asked
 * @returns the requests that the rules found something in and what could not be judged, as it comes; at the end the sums
 * @throws {ManagedByError} as `lint`
 */
export function replay(
  lines: string | AsyncIterable<ReplayInput> | Iterable<ReplayInput>,
  settings: Settings | string = {},
  options: ReplayOptions = {},
): AsyncGenerator<ReplayStep, ReplayTally, void> {
  return replaying(parts(lines), text(settings, "settings"), options);
}

/**
 * Says everything that is wrong with settings, as PolicyServer asks the policy when it starts.
 *
 * @param settings an object, JSON or YAML, of any form; or a policy's manifest that holds them. Whatever is wrong with it is answered, not thrown
 * @throws {ManagedByError} `ERR_ARGUMENT`
 */
export function validateSettings(settings: unknown): SettingsVerdict {
  const chosen = text(settings, "settings");
  return read(guarded((module) => module.validateSettings(chosen)));
}

/** All rules, in the order in which findings are reported. */
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
 * What people read about a rule.
 *
 * @param id for example `managed-by/immutable`
 * @throws {ManagedByError} `ERR_UNKNOWN_RULE`, with what was probably meant
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

/** The rule that was probably meant, also by its name without its family. */
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

/** The kinds that carry the field. A kind may come twice, once for each way in which its versions differ. */
export function kinds(): Kind[] {
  return structuredClone(catalogue.kinds as Kind[]);
}

/** The JSON Schema of the settings, for editors. */
export function settingsSchema(): Record<string, unknown> {
  return structuredClone(catalogue.settingsSchema);
}

/** The releases of Kubernetes that `kubernetes_version` may name, oldest first. */
export function releases(): string[] {
  return [...catalogue.releases];
}

/** A copy: what a caller does to it is the caller's. */
function pages(): RulePage[] {
  return structuredClone(catalogue.rules as unknown as RulePage[]);
}

export { ManagedByError };
export type { ErrorCode } from "./error.js";
export type * from "../generated/settings.js";
export type * from "../generated/types.js";
export type * from "./request.js";
export type * from "./summary.js";

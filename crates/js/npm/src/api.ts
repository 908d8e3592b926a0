import catalogue from "../generated/catalogue.json" with { type: "json" };
import type { Settings } from "../generated/settings.js";
import type { Kind, Rule, RulePage, SettingsVerdict, Verdict } from "../generated/types.js";
import { ManagedByError } from "./error.js";
import { guarded, read, text } from "./module.js";
import type { AdmissionRequest, AdmissionReview } from "./request.js";

/**
 * Judges an admission request, as the policy does in PolicyServer.
 *
 * A request that makes no sense gets the policy's own answer: denied, code 400, with the place that is wrong.
 * Pods are not looked up: their Job is in a cluster.
 *
 * @param request the request, or the `AdmissionReview` that holds it; an object or JSON text
 * @param settings the policy's settings; without them its defaults
 * @throws {ManagedByError} `ERR_BAD_SETTINGS`, `ERR_ARGUMENT`
 */
export function review(request: AdmissionRequest | AdmissionReview | string, settings: Settings | string = {}): Verdict {
  const asked = text(request, "request");
  const chosen = text(settings, "settings");
  return read(guarded((module) => module.review(asked, chosen)), "settings");
}

/**
 * Says everything that is wrong with settings, as PolicyServer asks the policy when it starts.
 *
 * @param settings an object or JSON text, of any form: whatever is wrong with it is answered, not thrown
 * @throws {ManagedByError} `ERR_ARGUMENT`
 */
export function validateSettings(settings: unknown): SettingsVerdict {
  const chosen = text(settings, "settings");
  return read(guarded((module) => module.validateSettings(chosen)), "settings");
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
 * @throws {ManagedByError} `ERR_UNKNOWN_RULE`
 */
export function explain(id: string): RulePage {
  const page = pages().find((rule) => rule.id === id);
  if (page === undefined) {
    throw new ManagedByError("ERR_UNKNOWN_RULE", "id", `no rule has the id ${JSON.stringify(id)}; rules() lists all of them`);
  }
  return page;
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

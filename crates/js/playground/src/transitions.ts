// Evaluates which transitions between the states of a Job's status are possible.
import { type AdmissionRequest, diff } from "managed-by/web";
import { verdictOf } from "./verdict.js";

export type StateId = "none" | "running" | "suspended" | "criteria" | "target" | "complete" | "failed";

/** Requested transition, and the transitions of the Job controller that are possible. */
export interface Transitions {
  from: StateId;
  to: StateId;
  /** `denied`: this write is denied, but another one may make the transition. `forbidden`: no write may make it. */
  outcome: "allowed" | "denied" | "forbidden";
  possible: [StateId, StateId][];
}

const START = { startTime: "2026-01-01T00:00:00Z" };
const END = { completionTime: "2026-01-01T01:00:00Z" };
const conditions = (...types: string[]): object => ({ conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: "2026-01-01T01:00:00Z" })) });

/** Statuses in each state. If a transition is possible at all, a release allows it between two of these. */
const STATUSES: Record<StateId, object[]> = {
  none: [{}],
  running: [START],
  suspended: [conditions("Suspended"), { ...START, ...conditions("Suspended") }],
  criteria: [{ ...START, ...conditions("SuccessCriteriaMet") }, conditions("SuccessCriteriaMet")],
  target: [{ ...START, ...conditions("FailureTarget") }, conditions("FailureTarget")],
  complete: [{ ...START, ...END, ...conditions("SuccessCriteriaMet", "Complete") }],
  failed: [{ ...START, ...conditions("FailureTarget", "Failed") }],
};

/** Transitions that the Job controller makes. */
const JOB_CONTROLLER_TRANSITIONS: [StateId, StateId][] = [
  ["none", "running"],
  ["none", "suspended"],
  ["running", "suspended"],
  ["suspended", "running"],
  ["running", "criteria"],
  ["running", "target"],
  ["criteria", "complete"],
  ["target", "failed"],
];

/** Returns the state of a status. */
export function stateOf(status: unknown): StateId {
  const { conditions, startTime } = (status ?? {}) as { conditions?: unknown; startTime?: unknown };
  const trueTypes = new Set<unknown>();
  for (const condition of Array.isArray(conditions) ? conditions : []) {
    const { type, status: value } = (condition ?? {}) as { type?: unknown; status?: unknown };
    if (value === "True") {
      trueTypes.add(type);
    }
  }
  if (trueTypes.has("Complete")) return "complete";
  if (trueTypes.has("Failed")) return "failed";
  if (trueTypes.has("SuccessCriteriaMet")) return "criteria";
  if (trueTypes.has("FailureTarget")) return "target";
  if (trueTypes.has("Suspended")) return "suspended";
  return startTime === undefined || startTime === null ? "none" : "running";
}

/** An Indexed Job with a success policy, because 1.30 allows `SuccessCriteriaMet` only in such Jobs. */
function job(status: object, suspend: boolean): object {
  const spec = { managedBy: "example.com/controller", completions: 1, completionMode: "Indexed", successPolicy: { rules: [{ succeededCount: 1 }] }, suspend };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi" }, spec, status };
}

/** Results by settings, release and states, because each of them takes several evaluations. */
const cache = new Map<string, boolean>();

/** Returns true if any status update may make a transition. Rules about the user or the value of `managedBy` do not count. */
export function isPossible(from: StateId, to: StateId, settings: string, release: string): boolean {
  const key = JSON.stringify([from, to, settings, release]);
  const isAllowed = (old: object, now: object, suspend: boolean): boolean =>
    diff(job(old, suspend), job(now, suspend), settings, { subResource: "status", releases: "all" }).objects.every((evaluated) =>
      verdictOf(evaluated, release).findings.every(({ enforcement, rule }) => enforcement !== "deny" || !rule.startsWith("job-status/")),
    );
  const result = cache.get(key) ?? [false, true].some((suspend) => STATUSES[from].some((old) => STATUSES[to].some((now) => isAllowed(old, now, suspend))));
  if (cache.size > 1000) {
    cache.clear();
  }
  cache.set(key, result);
  return result;
}

/** Returns the transition that a request makes, if it updates the status of a Job. */
export function transitionsOf(request: AdmissionRequest, isRequestAllowed: boolean, settings: string, release: string): Transitions | undefined {
  if (request.kind.kind !== "Job" || request.kind.group !== "batch" || request.subResource !== "status") {
    return undefined;
  }
  const statusOf = (object: object | null | undefined): unknown => (object as { status?: unknown } | null | undefined)?.status;
  const [from, to] = [stateOf(statusOf(request.oldObject)), stateOf(statusOf(request.object))];
  const outcome = isRequestAllowed ? "allowed" : isPossible(from, to, settings, release) ? "denied" : "forbidden";
  return { from, to, outcome, possible: JOB_CONTROLLER_TRANSITIONS.filter(([a, b]) => isPossible(a, b, settings, release)) };
}

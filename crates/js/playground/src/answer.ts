// Determines who answers a request that the policy denies: kube-apiserver validates Jobs and CronJobs before it calls the policy.
import { type AdmissionRequest, type Evaluation, explain, type Finding, releasesWithManagedByOnByDefault } from "managed-by/web";
import { SETTINGS } from "./evaluation.js";

/** Who answers a denied request. */
export interface Answer {
  /** Messages of kube-apiserver's own validation, if it denies the request before it calls the policy. */
  serverMessages?: string[];
  /** Explains who answers. */
  note?: string;
}

/** Returns who answers a request on a release. Stored objects are not requests. */
export function answerOf(request: AdmissionRequest, verdict: Evaluation, isStored: boolean, release: string): Answer {
  const upstream = verdict.findings.filter(({ enforcement, rule }) => enforcement === "deny" && explain(rule).upstream);
  if (verdict.allowed || isStored || request.kind.group !== "batch" || upstream.length === 0) {
    return {};
  }
  if (release === SETTINGS) {
    return { note: "kube-apiserver 1.32 and newer validates this itself, before it calls the policy." };
  }
  const own = releasesWithManagedByOnByDefault().includes(release) ? upstream : upstream.filter((finding) => isAlwaysValidated(request, finding));
  if (own.length === 0) {
    return { note: `kube-apiserver ${release} validates this only with the feature gate JobManagedBy, which is off by default. Without the gate, only the policy can deny it.` };
  }
  return { serverMessages: own.map(({ message }) => message), note: `kube-apiserver ${release} validates this itself, before it calls the policy.` };
}

/** Returns true if kube-apiserver has the check even without the feature gate `JobManagedBy`, which drops the field from a Job. */
function isAlwaysValidated({ kind, subResource }: AdmissionRequest, { rule }: Finding): boolean {
  return kind.kind === "CronJob" || (subResource === "status" && explain(rule).option === undefined);
}

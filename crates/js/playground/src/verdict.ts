// Reads evaluations of the package.
import type { Evaluation, ObjectVerdict, Verdict } from "managed-by/web";

/** An evaluated object, and its evaluation for all releases. */
export interface EvaluatedObject extends ObjectVerdict {
  byRelease?: Evaluation | undefined;
}

/** Returns the outcome of a verdict. */
export function outcomeOf(verdict: Verdict): "Allowed" | "Warned" | "Denied" {
  return verdict.allowed ? (verdict.warnings.length > 0 ? "Warned" : "Allowed") : "Denied";
}

/** Returns the verdict of a release, or the verdict with the settings if there is none for the release, as for `settings`. */
export function verdictOf({ verdict, byRelease }: EvaluatedObject, release: string): Evaluation {
  const shared = byRelease?.releaseVerdicts?.find(({ releases }) => releases.includes(release));
  if (byRelease === undefined || shared === undefined) {
    return verdict;
  }
  const findings = byRelease.findings.filter((finding) => finding.releases?.includes(release)).map(({ releases: _, releaseRange: __, messages = [], ...finding }) => {
    const { type, message, detail } = messages.find((own) => own.releases.includes(release)) ?? finding;
    return { ...finding, type, message, detail };
  });
  return { ...shared, findings, unchecked: byRelease.unchecked };
}

// Reads verdicts of the package.
import type { ObjectVerdict, Verdict } from "managed-by/web";

/** Returns the outcome of a verdict. */
export function outcomeOf(verdict: Verdict): "Allowed" | "Warned" | "Denied" {
  return verdict.allowed ? (verdict.warnings.length > 0 ? "Warned" : "Allowed") : "Denied";
}

/** Returns the verdict of a release, with the positions in `evaluated.verdict`; or `evaluated.verdict` itself if there is none for the release, as for `settings`. */
export function verdictOf(evaluated: ObjectVerdict, release: string): Verdict {
  const chosen = evaluated.releases?.find((entry) => entry.release === release)?.verdict;
  if (chosen === undefined) {
    return evaluated.verdict;
  }
  const findings = chosen.findings.map((finding) => {
    const position = evaluated.verdict.findings.find(({ rule, path }) => rule === finding.rule && path === finding.path)?.position;
    return position === undefined ? finding : { ...finding, position };
  });
  return { ...chosen, findings };
}

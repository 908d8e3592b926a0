import type { LintAnswer, ReplaySums } from "../generated/types.js";
import type { Lint, ReplayTally, Summary } from "./summary.js";

/** Summarizes counts. An empty input is not ok. */
function summary(total: number, evaluated: number, denied: number, unreadable: number): Summary {
  return { ok: total > 0 && denied === 0 && unreadable === 0, evaluated, denied, unreadable };
}

/** Adds the summary to a result of `lint` or `diff`. */
export function withSummary(answer: LintAnswer): Lint {
  const denied = answer.objects.filter(({ verdict, releases }) => !verdict.allowed || releases?.some((release) => !release.verdict.allowed) === true);
  return { ...answer, summary: summary(answer.objects.length, answer.objects.length, denied.length, answer.unreadable.length) };
}

/** Adds the summary to the totals of a history. */
export function withTallySummary(sums: ReplaySums): ReplayTally {
  const { evaluated, stored, denied, skipped } = sums.counts;
  return { ...sums, summary: summary(evaluated + stored, evaluated, denied, skipped) };
}

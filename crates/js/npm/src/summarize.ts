import type { LintResponse, ReplayTotals } from "../generated/types.js";
import type { LintResult, ReplaySummary, Summary } from "./summary.js";

/** Summarizes counts. An empty input is not ok. */
function summary(total: number, evaluated: number, denied: number, errors: number): Summary {
  return { ok: total > 0 && denied === 0 && errors === 0, evaluated, denied, errors };
}

/** Adds the summary to a result of `lint` or `diff`. */
export function completeResult(result: LintResponse): LintResult {
  const denied = result.objects.filter(({ verdict }) => !verdict.allowed);
  return { ...result, summary: summary(result.objects.length, result.objects.length, denied.length, result.errors.length) };
}

/** Adds the summary to the totals of a history. */
export function withReplaySummary(totals: ReplayTotals): ReplaySummary {
  const { evaluated, stored, denied, skipped } = totals;
  const errors = Object.values(skipped).reduce((sum, count) => sum + count, 0);
  return { ...totals, summary: summary(evaluated + stored, evaluated, denied, errors) };
}

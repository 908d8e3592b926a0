import type { LintAnswer, ReplaySums } from "../generated/types.js";
import type { Lint, ReplayTally, Summary } from "./summary.js";

/** All is well where something was seen, and nothing is wrong with it. */
function summary(seen: number, judged: number, denied: number, unreadable: number): Summary {
  return { ok: seen > 0 && denied === 0 && unreadable === 0, judged, denied, unreadable };
}

/** An answer of the module with its summary. */
export function summedUp(answer: LintAnswer): Lint {
  const denied = answer.objects.filter(({ verdict, releases }) => !verdict.allowed || releases?.some((of) => !of.verdict.allowed) === true);
  return { ...answer, summary: summary(answer.objects.length, answer.objects.length, denied.length, answer.unreadable.length) };
}

/** The sums of a history with their summary. */
export function allInAll(sums: ReplaySums): ReplayTally {
  const { judged, stored, denied, unjudged } = sums.counts;
  return { ...sums, summary: summary(judged + stored, judged, denied, unjudged) };
}

import type { LintResponse, ReplayTotals } from "../generated/types.js";

/** Totals for scripts. */
export interface Summary {
  /** True if at least one object was evaluated, none was denied by an evaluated release, and everything could be read. */
  ok: boolean;
  /** Reviewed objects of `lint` and `diff`, or requests of `replay`. 0 if there were none of a supported kind. */
  evaluated: number;
  /** Denied objects or requests. */
  denied: number;
  /** Parts that could not be read or reviewed. */
  errors: number;
}

/** Result of reviewing a text. */
export interface LintResult extends LintResponse {
  /** Totals. */
  summary: Summary;
}

/** Totals of a history. */
export type ReplaySummary = ReplayTotals & {
  /** Summary of the totals. */
  summary: Summary;
};

import type { LintAnswer, ReplaySums } from "../generated/types.js";

/** Totals for scripts. */
export interface Summary {
  /** True if at least one object was reviewed, none was denied by an evaluated release, and everything could be read. */
  ok: boolean;
  /** Reviewed objects of `lint` and `diff`, or requests of `replay`. 0 if there were none of a supported kind. */
  evaluated: number;
  /** Denied objects or requests. */
  denied: number;
  /** Parts that could not be read or reviewed. */
  unreadable: number;
}

/** Result of reviewing a text. */
export interface Lint extends LintAnswer {
  /** Totals. */
  summary: Summary;
}

/** Totals of a history. */
export interface ReplayTally extends ReplaySums {
  /** Summary of the totals. */
  summary: Summary;
}

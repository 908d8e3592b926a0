import type { LintAnswer, ReplaySums } from "../generated/types.js";

/** One look for a script: what there was, and whether all of it may go on. */
export interface Summary {
  /** Whether something was judged, nothing denied, by the settings' release or by any that was asked, and everything could be read. */
  ok: boolean;
  /** How much was judged: objects of `lint` and `diff`, requests of `replay`. 0 says that nothing of a known kind was there. */
  judged: number;
  /** How much of that was denied. */
  denied: number;
  /** What could not be read or judged. */
  unreadable: number;
}

/** What there is to say about a text. */
export interface Lint extends LintAnswer {
  /** The sums. */
  summary: Summary;
}

/** The sums of a history. */
export interface ReplayTally extends ReplaySums {
  /** The sums of the sums. */
  summary: Summary;
}

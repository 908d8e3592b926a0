import type { Problem } from "../generated/types.js";

/** The words by which code tells errors apart. */
export type ErrorCode =
  /** An argument is neither a plain object nor text (bytes, a promise, a Map), or cannot be written as JSON. */
  | "ERR_ARGUMENT"
  /** The settings are bad: a PolicyServer would not start with them. `problems` lists everything that is wrong. */
  | "ERR_BAD_SETTINGS"
  /** No rule has this id. */
  | "ERR_UNKNOWN_RULE"
  /** `init` has not been called yet, or its promise is not settled. */
  | "ERR_NOT_READY"
  /** The module could not be loaded. `cause` says why. */
  | "ERR_LOAD"
  /** The module failed, for want of memory most likely. The call after it begins with a fresh one. */
  | "ERR_INTERNAL";

/** Why there is no answer. */
export class ManagedByError extends Error {
  override readonly name = "ManagedByError";
  /** What code tells errors apart by. */
  readonly code: ErrorCode;
  /** Where the trouble is: the argument, or a place in it such as `settings.rules["managed-by/format"]`. */
  readonly path: string;
  /** Everything that is wrong with settings; empty for other errors. */
  readonly problems: Problem[];

  constructor(code: ErrorCode, path: string, message: string, options: { cause?: unknown; problems?: Problem[] } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.path = path;
    this.problems = options.problems ?? [];
  }
}

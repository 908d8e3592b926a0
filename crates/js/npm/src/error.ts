import type { Problem } from "../generated/types.js";

/** Error codes. */
export type ErrorCode =
  /** An argument is neither a plain object nor text (bytes, a promise, a Map), or cannot be written as JSON. */
  | "ERR_ARGUMENT"
  /** The settings are invalid, and PolicyServer would not start with them. `problems` lists the errors. */
  | "ERR_BAD_SETTINGS"
  /** No rule has this id. */
  | "ERR_UNKNOWN_RULE"
  /** `init` has not been called, or its promise is not settled. */
  | "ERR_NOT_READY"
  /** The module could not be loaded, see `cause`. */
  | "ERR_LOAD"
  /** The module failed, usually because of insufficient memory. The next call uses a new instance. */
  | "ERR_INTERNAL";

/** The error that all functions throw. */
export class ManagedByError extends Error {
  override readonly name = "ManagedByError";
  /** Error code. */
  readonly code: ErrorCode;
  /** Invalid argument, or the path in it, such as `settings.rules["managed-by/format"]`. */
  readonly path: string;
  /** All problems of invalid settings; empty for other errors. */
  readonly problems: Problem[];

  constructor(code: ErrorCode, path: string, message: string, options: { cause?: unknown; problems?: Problem[] } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.path = path;
    this.problems = options.problems ?? [];
  }
}

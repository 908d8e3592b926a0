import type { Problem } from "../generated/types.js";

/** Code of a `ManagedByError`. */
export type ErrorCode =
  /** An argument is neither a plain object nor a string (for example bytes, a promise or a Map), or cannot be serialized as JSON. */
  | "ERR_INVALID_ARGUMENT"
  /** The settings are invalid, and PolicyServer would not start with them. `problems` lists the errors. */
  | "ERR_INVALID_SETTINGS"
  /** No rule has this id. */
  | "ERR_UNKNOWN_RULE"
  /** `init` has not been called, or its promise has not resolved yet. */
  | "ERR_NOT_READY"
  /** The module could not be loaded, see `cause`. */
  | "ERR_LOAD"
  /** The module failed, usually because of insufficient memory. The next call uses a new instance. */
  | "ERR_INTERNAL";

/** The error that all functions throw. */
export class ManagedByError extends Error {
  override readonly name = "ManagedByError";
  readonly code: ErrorCode;
  /** Invalid argument, or the path in it, such as `settings.rules[managed-by/format]`. */
  readonly path: string;
  /** Problems in the settings; empty for other error codes. */
  readonly problems: Problem[];

  constructor(code: ErrorCode, path: string, message: string, options: { cause?: unknown; problems?: Problem[] } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.path = path;
    this.problems = options.problems ?? [];
  }
}

/** Returns the error for an invalid argument, or for an invalid option in it. */
export function invalidArgument(path: string, message: string, options?: { cause: unknown }): ManagedByError {
  return new ManagedByError("ERR_INVALID_ARGUMENT", path, `${path}: ${message}`, options);
}

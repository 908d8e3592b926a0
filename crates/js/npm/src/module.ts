import * as glue from "../generated/managed_by.js";
import type { Problem } from "../generated/types.js";
import { invalidArgument, ManagedByError, type ErrorCode } from "./error.js";

type ModuleResponse<T> = { Ok: T } | { Err: { code: ErrorCode; path: string; message: string; problems: Problem[] } };

/**
 * Memory that an instance of the module may keep between calls, in pages of 64 KiB. WebAssembly memory cannot shrink, so after a larger
 * input a new instance replaces it.
 */
const MAX_KEPT_PAGES = 1024;

let isReady = false;
/** Number of replays whose state is in the module's memory. */
let replays = 0;

/** Starts the module from its bytes or a compiled module. */
export function startSync(module: BufferSource | WebAssembly.Module): void {
  glue.initSync({ module });
  isReady = true;
}

/** Loads and starts the module. */
export async function start(source: string | URL | Request | Response | BufferSource | WebAssembly.Module): Promise<void> {
  try {
    await glue.default({ module_or_path: source });
  } catch (cause) {
    throw new ManagedByError("ERR_LOAD", "source", `the module could not be loaded: ${String(cause)}`, { cause });
  }
  isReady = true;
}

/** Calls the module. After a trap its memory is invalid, so the next call uses a new instance. */
export function callModule<T>(call: (module: typeof glue) => T): T {
  if (!isReady) {
    throw new ManagedByError("ERR_NOT_READY", "", "the module is not loaded yet: await init() first");
  }
  try {
    return call(glue);
  } catch (cause) {
    if (!(cause instanceof WebAssembly.RuntimeError)) {
      throw cause;
    }
    glue.__wbg_reset_state();
    throw new ManagedByError("ERR_INTERNAL", "", `the module failed: ${cause.message}`, { cause });
  } finally {
    releaseMemory();
  }
}

/** Keeps the module's instance for a replay, until the returned function is called. */
export function keepInstance(): () => void {
  replays += 1;
  return () => {
    replays -= 1;
    releaseMemory();
  };
}

function releaseMemory(): void {
  if (isReady && replays === 0 && glue.memoryPages() > MAX_KEPT_PAGES) {
    glue.__wbg_reset_state();
  }
}

/** Parses the module's response, or throws its error. */
export function parseResponse<T>(text: string): T {
  const response: ModuleResponse<T> = JSON.parse(text);
  if ("Ok" in response) {
    return response.Ok;
  }
  const { code, path, message, problems } = response.Err;
  throw new ManagedByError(code, path, message, { problems });
}

/** Converts an argument to text: a string unchanged, a plain object or an array as JSON. */
export function toText(value: unknown, path: string): string {
  if (typeof value === "string") {
    return value;
  }
  const invalid = describeInvalid(value);
  if (invalid !== undefined) {
    throw invalidArgument(path, `expected a plain object or text, got ${invalid}`);
  }
  try {
    // `toJSON` may return undefined.
    return JSON.stringify(value) ?? "null";
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw invalidArgument(path, `cannot be serialized as JSON: ${why}`, { cause });
  }
}

/** Describes a value that is neither a plain object nor an array. `JSON.stringify` would turn most of them into an empty, valid object. */
export function describeInvalid(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) {
    return value === null ? "null" : typeof value;
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return "bytes; decode them to text first";
  }
  if (typeof (value as { then?: unknown }).then === "function") {
    return "a promise; await it first";
  }
  if (Symbol.asyncIterator in value || "getReader" in value) {
    return "a stream; read it to the end first";
  }
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  return tag === "Object" || tag === "Array" ? undefined : `a ${tag}`;
}

// A page or a worker that says itself when, and from where, the module is loaded.
import { start } from "./module.js";

let started: Promise<void> | undefined;

/**
 * Loads the module. Await it before anything else; calls after the first do nothing, unless that one failed.
 *
 * @param source where the module is, its bytes, or compiled; without it `managed_by.wasm` beside this file
 * @throws {ManagedByError} `ERR_LOAD`
 */
export function init(
  source: string | URL | Request | Response | BufferSource | WebAssembly.Module = new URL("./managed_by.wasm", import.meta.url),
): Promise<void> {
  started ??= start(source).catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  return started;
}

export * from "./api.js";

// Entry for pages and workers that load the module themselves.
import { start } from "./module.js";

let started: Promise<void> | undefined;

/**
 * Loads the module. Await it before calling other functions. Further calls do nothing unless the first one failed.
 *
 * @param source the module's URL, response, bytes or compiled module; by default `managed_by.wasm` next to this file
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

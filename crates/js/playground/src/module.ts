// Loads the WebAssembly module, and explains why it cannot be loaded.
import { init } from "managed-by/web";

/** Loads the module. If this fails, throws an error whose message can be shown to the user. */
export async function loadModule(): Promise<void> {
  if (typeof WebAssembly === "undefined") {
    throw new Error("This browser does not support WebAssembly, or WebAssembly is disabled.");
  }
  const response = await fetchModule();
  if (!response.ok) {
    throw new Error(`The server returned ${`${response.status} ${response.statusText}`.trim()} for managed_by.wasm.`);
  }
  const type = response.headers.get("content-type")?.split(";")[0]?.trim() ?? "";
  try {
    // Browsers compile a response while it arrives, but only one with the right type.
    await init(type === "application/wasm" ? response : await response.arrayBuffer());
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    const reason = cause instanceof Error ? cause.message : String(error);
    throw new Error(type === "application/wasm" ? reason : `The server sent managed_by.wasm ${type === "" ? "without a content type" : `as ${type}`}, not as application/wasm, and it is not a module.`);
  }
}

async function fetchModule(): Promise<Response> {
  try {
    return await fetch(new URL("./managed_by.wasm", import.meta.url));
  } catch {
    throw new Error(navigator.onLine ? "The server is unreachable." : "You are offline, and this browser has no copy of the page.");
  }
}

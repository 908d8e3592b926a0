// Bundlers: the module is in the package's code, because bundlers do not agree on how a file beside it is found, or on waiting for it.
import { startSync } from "./module.js";
import wasm from "./wasm.js";

startSync(Uint8Array.from(atob(wasm), (character) => character.charCodeAt(0)));

export * from "./api.js";

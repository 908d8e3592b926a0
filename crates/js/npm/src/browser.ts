// Entry for bundlers. The module is inlined, because bundlers differ in how they resolve assets and support top-level await.
import { startSync } from "./module.js";
import wasm from "./wasm.js";

startSync(Uint8Array.from(atob(wasm), (character) => character.charCodeAt(0)));

export * from "./api.js";

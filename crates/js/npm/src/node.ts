// Entry for Node, Deno and Bun. The module is inlined, so that all functions are available synchronously, also in a bundle.
import { startSync } from "./module.js";
import wasm from "./wasm.js";

startSync(Buffer.from(wasm, "base64"));

export * from "./api.js";

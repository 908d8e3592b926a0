// Node, Deno and Bun: the module is in the package's code, so that every function may be called at once, also in a bundle.
import { startSync } from "./module.js";
import wasm from "./wasm.js";

startSync(Buffer.from(wasm, "base64"));

export * from "./api.js";

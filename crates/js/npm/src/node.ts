// Node, Deno and Bun: the module is read when the package is loaded, so that every function may be called at once.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startSync } from "./module.js";

/** The folder of the package: the build says how this module format calls it. */
declare const HERE: string;

startSync(readFileSync(join(HERE, "managed_by.wasm")));

export * from "./api.js";

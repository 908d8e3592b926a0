// Bundlers and browsers: whoever imports the package waits until the module is loaded.
import { start } from "./module.js";

await start(new URL("./managed_by.wasm", import.meta.url));

export * from "./api.js";

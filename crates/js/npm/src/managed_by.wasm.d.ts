/** URL of the module, for bundlers that emit `.wasm` imports as files. Pass it to `init` of `managed-by/web`. */
declare const url: string;
export default url;

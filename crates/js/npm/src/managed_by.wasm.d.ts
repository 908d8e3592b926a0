/** The module's URL, as bundlers that emit it as a file export it. Pass it to `init` of `managed-by/web`. */
declare const url: string;
export default url;

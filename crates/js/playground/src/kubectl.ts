// The result as kubectl prints it.
import type { AdmissionRequest, Verdict } from "managed-by/web";
import type { Answer } from "./answer.js";

/** Name of the webhook in the manifests in `deploy/`. */
const WEBHOOK = "clusterwide-managed-by.kubewarden.admission";

export interface Line {
  kind: "command" | "warning" | "error" | "done";
  text: string;
}

/** The reviewed parts of an object. */
export function evaluatedParts(request: AdmissionRequest, isStored = false): string {
  if (request.subResource === "status") {
    return "the status";
  }
  return isStored ? "managedBy and the status" : "managedBy";
}

/** Returns kubectl's output: warnings first, then the error. It does not include the result of storing the object, which depends on the API server. */
export function transcript(request: AdmissionRequest, verdict: Verdict, { serverMessages }: Answer, isStored = false): Line[] {
  const file = `${request.kind.kind.toLowerCase()}.yml`;
  const isCreate = request.operation === "CREATE";
  const subResource = request.subResource === "status" ? " --subresource=status" : "";
  const lines: Line[] = [{ kind: "command", text: `kubectl ${isCreate ? "create" : `replace${subResource}`} -f ${file}` }];
  if (serverMessages !== undefined) {
    // The API server does not call the policy, so it has no warnings of it.
    const prefix = `The ${request.kind.kind} "${request.name ?? ""}" is invalid: `;
    const texts = serverMessages.length === 1 ? [`${prefix}${serverMessages[0]}`] : [prefix, ...serverMessages.map((text) => `* ${text}`)];
    return [...lines, ...texts.map((text): Line => ({ kind: "error", text }))];
  }
  lines.push(...verdict.warnings.map((text): Line => ({ kind: "warning", text: `Warning: ${text}` })));
  if (verdict.allowed) {
    lines.push({ kind: "done", text: `# the policy allows ${evaluatedParts(request, isStored)}` });
  } else {
    const what = `error when ${isCreate ? "creating" : "replacing"} "${file}"`;
    const text = `Error from server: ${what}: admission webhook "${WEBHOOK}" denied the request: ${verdict.message ?? ""}`;
    lines.push({ kind: "error", text });
  }
  return lines;
}

// The answer as a terminal shows it.
import type { AdmissionRequest, Verdict } from "managed-by/web";

/** The name that the manifests in `deploy/` give the webhook. */
const WEBHOOK = "clusterwide-managed-by.kubewarden.admission";

export interface Line {
  kind: "command" | "warning" | "error" | "done";
  text: string;
}

/** What kubectl prints: warnings first, then what was done, or the error. */
export function transcript(request: AdmissionRequest, verdict: Verdict): Line[] {
  const { group, kind } = request.kind;
  const resource = `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}/${request.name ?? ""}`;
  const file = `${kind.toLowerCase()}.yml`;
  const isCreate = request.operation === "CREATE";
  const subResource = request.subResource === "status" ? " --subresource=status" : "";
  const lines: Line[] = [{ kind: "command", text: `kubectl ${isCreate ? "create" : `replace${subResource}`} -f ${file}` }];
  lines.push(...verdict.warnings.map((text): Line => ({ kind: "warning", text: `Warning: ${text}` })));
  if (verdict.allowed) {
    lines.push({ kind: "done", text: `${resource} ${isCreate ? "created" : "replaced"}` });
  } else {
    const what = `error when ${isCreate ? "creating" : "replacing"} "${file}"`;
    const text = `Error from server: ${what}: admission webhook "${WEBHOOK}" denied the request: ${verdict.message ?? ""}`;
    lines.push({ kind: "error", text });
  }
  return lines;
}

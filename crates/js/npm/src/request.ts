/** What kube-apiserver asks a webhook. Members that the policy does not read may be left out. */
export interface AdmissionRequest {
  /** What is sent: `{"group": "batch", "version": "v1", "kind": "Job"}`. */
  kind: GroupVersionKind;
  /** `CREATE`, `UPDATE`, `DELETE` or `CONNECT`. */
  operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  /** `status` for an update of the status alone. */
  subResource?: string;
  /** The object sent. */
  object?: object | null;
  /** The object stored, of an update. */
  oldObject?: object | null;
  /** The object's name, where it has none of its own. */
  name?: string;
  namespace?: string;
  /** Who asks. */
  userInfo?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  uid?: string;
  resource?: { group: string; version: string; resource: string };
  requestKind?: GroupVersionKind;
  requestResource?: { group: string; version: string; resource: string };
  requestSubResource?: string;
  dryRun?: boolean;
  options?: object | null;
}

/** The name of a kind. */
export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

/** What kube-apiserver sends to a webhook: the request in its envelope. */
export interface AdmissionReview {
  apiVersion?: string;
  kind?: string;
  request: AdmissionRequest;
}

/** How the objects of a text are judged. */
export interface LintOptions {
  /** The namespace of objects that name none. */
  namespace?: string;
  /** Who asks. */
  username?: string;
  groups?: string[];
  /** `all` to ask every release of Kubernetes as well: each object gets `releases`. */
  releases?: "all";
}

/** How updates are judged. */
export interface DiffOptions extends LintOptions {
  /** `status` where only the status is updated, as through the subresource. */
  subResource?: "status";
}

/** How a history is judged. */
export interface ReplayOptions {
  /** `all` to ask every release of Kubernetes: each finding gets the `releases` that find it. */
  releases?: "all";
}

/** A part of a history: bytes or text, divided anywhere; a line, with or without its end; or an object. */
export type ReplayInput = Uint8Array | string | object;

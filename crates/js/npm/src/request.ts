/** A request from kube-apiserver to a webhook. Members that the policy does not read are optional. */
export interface AdmissionRequest {
  /** Kind of the object: `{"group": "batch", "version": "v1", "kind": "Job"}`. */
  kind: GroupVersionKind;
  /** `CREATE`, `UPDATE`, `DELETE` or `CONNECT`. */
  operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  /** `status` for an update of the status alone. */
  subResource?: string;
  /** New object. */
  object?: object | null;
  /** Stored object, for an update. */
  oldObject?: object | null;
  /** Name, if the object itself has none. */
  name?: string;
  namespace?: string;
  /** User of the request. */
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

/** The envelope in which kube-apiserver sends a request to a webhook. */
export interface AdmissionReview {
  apiVersion?: string;
  kind?: string;
  request: AdmissionRequest;
}

/** Options of `lint`. */
export interface LintOptions {
  /** Namespace of objects without one. */
  namespace?: string;
  /** User of the request. */
  username?: string;
  groups?: string[];
  /** `all` to evaluate every Kubernetes release. A denial of any release is a denial, and each object gets `releases`. */
  releases?: "all";
}

/** Options of `diff`. */
export interface DiffOptions extends LintOptions {
  /** `status` to review updates of the status subresource. */
  subResource?: "status";
}

/** Options of `replay`. */
export interface ReplayOptions {
  /** `all` to evaluate every Kubernetes release. Each finding gets the `releases` that report it. */
  releases?: "all";
}

/** A part of a history: a chunk of bytes or text, a line with or without a line end, or an object. */
export type ReplayInput = Uint8Array | string | object;

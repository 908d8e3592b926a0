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

/** Options of `review`. */
export interface ReviewOptions {
  /**
   * Kubernetes releases to evaluate, as for `lint`. A denial of any of them is a denial, the verdict gets `releaseVerdicts`, and rules that are `off`
   * in `rules()` deny as in `lint`.
   */
  releases?: string;
}

/** Options of `lint`. */
export interface LintOptions {
  /** Namespace of objects without one. */
  namespace?: string;
  /** User of the request. */
  username?: string;
  groups?: string[];
  /**
   * Kubernetes releases to evaluate, as for `--kubernetes` of the command line: `1.36`, `1.31-1.33`, `1.32+`, `1.33.4,1.36.3` or `all`. A
   * denial of any of them is a denial, and each verdict gets `releaseVerdicts`.
   */
  releases?: string;
}

/** Options of `diff`. */
export interface DiffOptions extends LintOptions {
  /** `status` to review updates of the status subresource. */
  subResource?: "status";
}

/** Options of `replay`. */
export interface ReplayOptions {
  /** Kubernetes releases to evaluate, as for `lint`. Each finding gets the `releases` that report it. */
  releases?: string;
}

/** A part of a history: a chunk of bytes or text, a line with or without a line end, or an object. */
export type ReplayInput = Uint8Array | string | object;

// Subset of JSON Schema for completion, and schemas of the objects: fields that rules evaluate, and other common fields.
import type { Kind } from "managed-by/web";

export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  /** Suggested values, if others are allowed too. */
  examples?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  $ref?: string;
  $defs?: Record<string, Schema>;
}

const text = (description: string, examples: string[] = []): Schema => ({ type: "string", description, examples });
const count = (description: string): Schema => ({ type: "integer", description });
const time = (description: string): Schema => ({ type: "string", description: `${description} RFC 3339: 2026-11-20T09:00:00Z.` });
const object = (properties: Record<string, Schema>, description = ""): Schema => ({ type: "object", description, properties });
const list = (items: Schema, description = ""): Schema => ({ type: "array", description, items });
const oneOf = (description: string, ...words: unknown[]): Schema => ({ enum: words, description });

const METADATA = object({
  name: text("The object's name."),
  namespace: text("Its namespace."),
  labels: object({ "kueue.x-k8s.io/queue-name": text("LocalQueue of Kueue to which the workload is submitted.") }),
  annotations: object({}),
  finalizers: list(text("Finalizers that must be removed before the object is deleted.")),
  deletionTimestamp: time("Time of the deletion request. Cluster-specific rules do not apply to objects that are being deleted."),
  ownerReferences: list(object({ apiVersion: text(""), kind: text(""), name: text(""), uid: text(""), controller: oneOf("", true, false) })),
  uid: text("Set by the API server."),
});

/** Fields in `spec` of a Job without its template (`k8s.io/api/batch/v1`). */
const JOB_SPEC: Record<string, Schema> = {
  suspend: oneOf("True if the Job is suspended.", true, false),
  parallelism: count("How many pods run at once."),
  completions: count("How many pods have to succeed."),
  completionMode: oneOf("Whether each pod has an index.", "NonIndexed", "Indexed"),
  backoffLimit: count("Number of retries before the Job fails."),
  backoffLimitPerIndex: count("How many pods may fail of each index."),
  maxFailedIndexes: count("How many indexes may fail."),
  activeDeadlineSeconds: count("How long the Job may run."),
  ttlSecondsAfterFinished: count("Seconds until a finished Job is deleted."),
  podReplacementPolicy: oneOf("When a pod is replaced.", "TerminatingOrFailed", "Failed"),
  successPolicy: object({ rules: list(object({ succeededIndexes: text("Indexes: 0,2-4"), succeededCount: count("") })) }),
  template: object({ metadata: METADATA, spec: object({ restartPolicy: oneOf("", "Never", "OnFailure"), containers: list(object({ name: text(""), image: text(""), command: list(text("")) })) }) }),
};

const CONDITION = object({
  type: { type: "string", description: "Type of the condition.", examples: ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget", "Suspended"] },
  status: oneOf("Status of the condition.", "True", "False", "Unknown"),
  reason: text("Machine-readable reason."),
  message: text("Human-readable message."),
  lastProbeTime: time("Time of the last probe."),
  lastTransitionTime: time("When it last changed."),
});

/** Fields in `status` of a Job (`k8s.io/api/batch/v1`). */
const JOB_STATUS: Record<string, Schema> = {
  conditions: list(CONDITION, "Terminal conditions and the conditions that precede them."),
  startTime: time("Time when the Job controller started the Job."),
  completionTime: time("When it succeeded."),
  active: count("Pods that are pending or run, and are not being deleted."),
  ready: count("Pods that are ready; no more than active."),
  terminating: count("Pods that are being deleted."),
  succeeded: count("Pods that succeeded; it never goes down."),
  failed: count("Pods that failed; it never goes down."),
  completedIndexes: text("Indexes that are done: 0,2-4."),
  failedIndexes: text("Indexes that have failed."),
  uncountedTerminatedPods: object({ succeeded: list(text("UID of a pod")), failed: list(text("UID of a pod")) }),
};

const EXTERNAL = "kueue.x-k8s.io/multikueue";

/** Returns the schema of an object by its kind. */
export function objectSchema(kinds: Kind[], apiVersion: string, kind: string): Schema {
  const known = kinds.find((k) => k.kind === kind && k.versions.some((version) => `${k.group}/${version}` === apiVersion));
  const spec: Record<string, Schema> = known?.kind === "Job" ? { ...JOB_SPEC } : {};
  const schema = object({
    apiVersion: { type: "string", description: "Group and version.", examples: [...new Set(kinds.flatMap((k) => k.versions.map((v) => `${k.group}/${v}`)))] },
    kind: { type: "string", description: "The kind.", examples: [...new Set(kinds.filter((k) => apiVersion === "" || apiVersion.startsWith(`${k.group}/`)).map((k) => k.kind))] },
    metadata: METADATA,
    spec: object(spec),
    status: object(known?.kind === "Job" ? JOB_STATUS : { conditions: list(CONDITION) }),
  });
  if (known !== undefined) {
    const managedBy = text(`Who runs it: the built-in controller with ${known.reservedValue ?? "no value"} or without the field, else the external controller of that name.`, [
      EXTERNAL,
      ...(known.reservedValue === undefined ? [] : [known.reservedValue]),
    ]);
    put(schema, known.managedByPath.split("."), managedBy);
  }
  return schema;
}

function put(schema: Schema, path: string[], leaf: Schema): void {
  const [first, ...rest] = path;
  if (first === undefined) {
    return;
  }
  schema.properties ??= {};
  const next = (schema.properties[first] = rest.length === 0 ? leaf : { type: "object", ...schema.properties[first] });
  put(next, rest, leaf);
}

/** Returns the schema of the settings with the supported kinds as suggestions. */
export function settingsSchemaWith(kinds: Kind[], schema: Schema): Schema {
  const controller = schema.properties?.["controllers"]?.additionalProperties;
  const items = typeof controller === "object" ? controller.properties?.["kinds"]?.items : undefined;
  if (items !== undefined) {
    items.examples = [...new Set(kinds.map((kind) => kind.workload))];
  }
  return schema;
}

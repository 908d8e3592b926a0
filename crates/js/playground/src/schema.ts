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

const stringSchema = (description: string, examples: string[] = []): Schema => ({ type: "string", description, examples });
const integerSchema = (description: string): Schema => ({ type: "integer", description });
const timeSchema = (description: string): Schema => ({ type: "string", description: `${description} RFC 3339: 2026-11-20T09:00:00Z.` });
const objectWith = (properties: Record<string, Schema>, description = ""): Schema => ({ type: "object", description, properties });
const arraySchema = (items: Schema, description = ""): Schema => ({ type: "array", description, items });
const enumSchema = (description: string, ...values: unknown[]): Schema => ({ enum: values, description });

const METADATA = objectWith({
  name: stringSchema("The object's name."),
  namespace: stringSchema("The object's namespace."),
  labels: objectWith({ "kueue.x-k8s.io/queue-name": stringSchema("LocalQueue of Kueue to which the workload is submitted.") }),
  annotations: objectWith({}),
  finalizers: arraySchema(stringSchema("Finalizers that must be removed before the object is deleted.")),
  deletionTimestamp: timeSchema("Set by the API server when deletion is requested. Of the cluster-specific rules, only managed-by/pruned-version applies to objects that are being deleted."),
  ownerReferences: arraySchema(objectWith({ apiVersion: stringSchema(""), kind: stringSchema(""), name: stringSchema(""), uid: stringSchema(""), controller: enumSchema("", true, false) })),
  uid: stringSchema("Set by the API server."),
});

/** Fields in `spec` of a Job without its template (`k8s.io/api/batch/v1`). */
const JOB_SPEC: Record<string, Schema> = {
  suspend: enumSchema("True if the Job is suspended.", true, false),
  parallelism: integerSchema("Maximum number of pods that run at the same time."),
  completions: integerSchema("Number of pods that must succeed."),
  completionMode: enumSchema("Indexed: each pod has an index.", "NonIndexed", "Indexed"),
  backoffLimit: integerSchema("Number of retries before the Job fails."),
  backoffLimitPerIndex: integerSchema("Number of retries of each index."),
  maxFailedIndexes: integerSchema("Maximum number of failed indexes."),
  activeDeadlineSeconds: integerSchema("Seconds that the Job may be active."),
  ttlSecondsAfterFinished: integerSchema("Seconds until a finished Job is deleted."),
  podReplacementPolicy: enumSchema("When to replace a pod.", "TerminatingOrFailed", "Failed"),
  successPolicy: objectWith({ rules: arraySchema(objectWith({ succeededIndexes: stringSchema("Indexes: 0,2-4"), succeededCount: integerSchema("") })) }),
  template: objectWith({ metadata: METADATA, spec: objectWith({ restartPolicy: enumSchema("", "Never", "OnFailure"), containers: arraySchema(objectWith({ name: stringSchema(""), image: stringSchema(""), command: arraySchema(stringSchema("")) })) }) }),
};

const CONDITION = objectWith({
  type: { type: "string", description: "Type of the condition.", examples: ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget", "Suspended"] },
  status: enumSchema("Status of the condition.", "True", "False", "Unknown"),
  reason: stringSchema("Machine-readable reason."),
  message: stringSchema("Human-readable message."),
  lastProbeTime: timeSchema("Time of the last probe."),
  lastTransitionTime: timeSchema("Time when the status last changed."),
});

/** Fields in `status` of a Job (`k8s.io/api/batch/v1`). */
const JOB_STATUS: Record<string, Schema> = {
  conditions: arraySchema(CONDITION, "Terminal conditions and the conditions that precede them."),
  startTime: timeSchema("Time when the Job controller started the Job."),
  completionTime: timeSchema("Time when the Job succeeded."),
  active: integerSchema("Number of pods that are pending or running, and are not being deleted."),
  ready: integerSchema("Number of ready pods, at most active."),
  terminating: integerSchema("Number of pods that are being deleted."),
  succeeded: integerSchema("Number of pods that succeeded. May decrease only in an Indexed Job whose completions equal its parallelism, which can be scaled down."),
  failed: integerSchema("Number of pods that failed. Never decreases."),
  completedIndexes: stringSchema("Indexes that succeeded: 0,2-4."),
  failedIndexes: stringSchema("Indexes that failed: 1,5-6."),
  uncountedTerminatedPods: objectWith({ succeeded: arraySchema(stringSchema("UID of a pod")), failed: arraySchema(stringSchema("UID of a pod")) }),
};

/** Name of the controller that most clusters delegate to. */
const MULTIKUEUE = "kueue.x-k8s.io/multikueue";

/** Returns the schema of an object by its kind. */
export function objectSchema(kinds: Kind[], apiVersion: string, kind: string): Schema {
  const supported = kinds.find((candidate) => candidate.kind === kind && candidate.versions.some((version) => `${candidate.group}/${version}` === apiVersion));
  const spec: Record<string, Schema> = supported?.kind === "Job" ? { ...JOB_SPEC } : {};
  const schema = objectWith({
    apiVersion: { type: "string", description: "Group and version.", examples: [...new Set(kinds.flatMap((k) => k.versions.map((v) => `${k.group}/${v}`)))] },
    kind: { type: "string", description: "The kind.", examples: [...new Set(kinds.filter((k) => apiVersion === "" || apiVersion.startsWith(`${k.group}/`)).map((k) => k.kind))] },
    metadata: METADATA,
    spec: objectWith(spec),
    status: objectWith(supported?.kind === "Job" ? JOB_STATUS : { conditions: arraySchema(CONDITION) }),
  });
  if (supported !== undefined) {
    const managedBy = stringSchema(`Controller that manages the object. Without the field${supported.reservedValue === undefined ? "" : `, or with ${supported.reservedValue}`}, the built-in controller manages it.`, [
      MULTIKUEUE,
      ...(supported.reservedValue === undefined ? [] : [supported.reservedValue]),
    ]);
    setProperty(schema, supported.managedByPath.split("."), managedBy);
  }
  return schema;
}

/** Sets the schema of the property at a path. */
function setProperty(schema: Schema, path: string[], property: Schema): void {
  const [first, ...rest] = path;
  if (first === undefined) {
    return;
  }
  schema.properties ??= {};
  const next = (schema.properties[first] = rest.length === 0 ? property : { type: "object", ...schema.properties[first] });
  setProperty(next, rest, property);
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

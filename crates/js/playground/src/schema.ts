// Subset of JSON Schema for the completion of settings.
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

/** Returns the schema of the settings with the supported kinds as suggestions. */
export function settingsSchemaWith(kinds: Kind[], schema: Schema): Schema {
  const controller = schema.properties?.["controllers"]?.additionalProperties;
  const items = typeof controller === "object" ? controller.properties?.["kinds"]?.items : undefined;
  if (items !== undefined) {
    items.examples = [...new Set(kinds.map((kind) => kind.workload))];
  }
  return schema;
}

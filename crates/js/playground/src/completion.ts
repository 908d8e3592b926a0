// Completion of keys and values at the cursor, from the schema of the settings.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Text } from "@codemirror/state";
import type { Schema } from "./schema.js";

/** Path from the root to the cursor: keys, and 0 for a list element at any index, because all elements share a schema. */
type Path = (string | 0)[];

const KEY = /^(?<indent>\s*)(?<dashes>(?:- +)*)(?:(?<key>"[^"]*"|'[^']*'|[^\s:#'"-][^:#]*):(?<rest>\s.*|$))?/;

interface Line {
  /** Column of the content after dashes. */
  column: number;
  /** Column of each dash. */
  dashes: number[];
  key: string | undefined;
}

function lineOf(text: string): Line | undefined {
  if (/^\s*(#.*)?$/.test(text)) {
    return undefined;
  }
  const groups = KEY.exec(text)?.groups;
  const indent = groups?.["indent"]?.length ?? 0;
  const prefix = groups?.["dashes"] ?? "";
  const dashes = dashesOf(prefix).map((column) => indent + column);
  return { column: indent + prefix.length, dashes, key: groups?.["key"]?.replaceAll(/^["']|["']$/g, "") };
}

/** Returns the path of the mapping that contains a line at this column: the preceding keys with less indentation. */
export function pathAt(doc: Text, lineNumber: number, column: number, dashes: number[]): Path {
  const path: Path = [];
  let inner = column;
  const enterItems = (columns: number[]): void => {
    for (const dash of [...columns].reverse()) {
      if (dash < inner) {
        path.unshift(0);
        inner = dash;
      }
    }
  };
  enterItems(dashes);
  // A list may have the same indentation as its key.
  let mayEqual = dashes.length > 0;
  for (let n = lineNumber - 1; n >= 1 && (inner > 0 || mayEqual); n -= 1) {
    const line = lineOf(doc.line(n).text);
    if (line === undefined) {
      continue;
    }
    const isAbove = line.column < inner || (mayEqual && line.column === inner && line.dashes.length === 0);
    if (line.key !== undefined && isAbove) {
      path.unshift(line.key);
      inner = line.column;
      mayEqual = false;
    }
    const before = inner;
    enterItems(line.dashes);
    mayEqual ||= inner < before;
  }
  return path;
}

function resolveReference(root: Schema, schema: Schema | undefined): Schema | undefined {
  const name = schema?.$ref?.replace("#/$defs/", "");
  return name === undefined ? schema : { ...root.$defs?.[name], ...schema };
}

/** Returns the schema at a path, if there is one. */
export function schemaAt(root: Schema, path: Path): Schema | undefined {
  let schema: Schema | undefined = root;
  for (const segment of path) {
    if (segment === 0) {
      schema = resolveReference(root, schema?.items);
    } else {
      const additional: Schema | boolean | undefined = schema?.additionalProperties;
      schema = resolveReference(root, schema?.properties?.[segment] ?? (typeof additional === "object" ? additional : undefined));
    }
  }
  return schema;
}

/** Suggests keys and values from a schema. */
export function schemaCompletionSource(root: Schema): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const { doc } = context.state;
    const line = doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const value = /^(?<start>\s*(?:- +)*)(?<key>[^\s:#-][^:#]*):\s+(?<typed>["']?[^\s"']*)$/.exec(before)?.groups;
    if (value !== undefined) {
      const { start = "", key = "", typed = "" } = value;
      const path = pathAt(doc, line.number, start.length, dashesOf(start));
      const schema = schemaAt(root, [...path, key.replaceAll(/^["']|["']$/g, "")]);
      return completionResult(valueCompletions(schema), context.pos - typed.length, context);
    }
    const started = /^(?<start>\s*(?:- +)*)(?<typed>["']?[\w./-]*)$/.exec(before)?.groups;
    if (started === undefined) {
      return null;
    }
    const { start = "", typed = "" } = started;
    const dashes = dashesOf(start);
    const schema = schemaAt(root, pathAt(doc, line.number, start.length, dashes));
    const options = [...keyCompletions(schema), ...(dashes.length > 0 ? valueCompletions(schema) : [])];
    return completionResult(options, context.pos - typed.length, context);
  };
}

/** Returns the columns of the dashes at the start of a line. */
function dashesOf(start: string): number[] {
  return [...start.matchAll(/-/g)].map((match) => match.index);
}

function completionResult(options: Completion[], from: number, context: CompletionContext): CompletionResult | null {
  const isRequested = context.explicit || context.pos > from || context.matchBefore(/: $/) !== null;
  return options.length > 0 && isRequested ? { from, options, validFor: /^["']?[\w./-]*$/ } : null;
}

function keyCompletions(schema: Schema | undefined): Completion[] {
  return Object.entries(schema?.properties ?? {}).map(([key, property]) => {
    const types = [property.type].flat().filter((type) => type !== undefined && type !== "null");
    const isNested = types.includes("object") || types.includes("array");
    return {
      label: key,
      apply: isNested ? `${key}:` : `${key}: `,
      type: "property",
      detail: property.enum === undefined ? types.join(" ") : "",
      boost: 1,
      ...(property.description ? { info: property.description } : {}),
    };
  });
}

function valueCompletions(schema: Schema | undefined): Completion[] {
  const values = [...(schema?.enum ?? []), ...(schema?.examples ?? []), ...(Array.isArray(schema?.items?.enum) ? schema.items.enum : [])];
  return values
    .filter((value) => value !== null)
    .map((value) => ({ label: toScalar(value), type: "enum", ...(schema?.description ? { info: schema.description } : {}) }));
}

/** Quotes a string that YAML would read as a number or boolean. */
function toScalar(value: unknown): string {
  const text = String(value);
  return typeof value === "string" && /^(\d.*|true|false|null|yes|no|on|off)$/i.test(text) ? JSON.stringify(text) : text;
}

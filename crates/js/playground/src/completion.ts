// Schema-based completion of keys and values at the cursor.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Text } from "@codemirror/state";
import type { Schema } from "./schema.js";

/** Path of the cursor: keys from the root, and numbers for list elements. */
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
  const marks = groups?.["dashes"] ?? "";
  const dashes = [...marks.matchAll(/-/g)].map((match) => indent + match.index);
  return { column: indent + marks.length, dashes, key: groups?.["key"]?.replaceAll(/^["']|["']$/g, "") };
}

/** Returns the path of the mapping that contains a line at this column: the preceding keys with less indentation. */
export function pathAt(doc: Text, lineNumber: number, column: number, dashes: number[]): Path {
  const path: Path = [];
  let inner = column;
  const climb = (marks: number[]): void => {
    for (const dash of [...marks].reverse()) {
      if (dash < inner) {
        path.unshift(0);
        inner = dash;
      }
    }
  };
  climb(dashes);
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
    climb(line.dashes);
    mayEqual ||= inner < before;
  }
  return path;
}

function resolve(root: Schema, schema: Schema | undefined): Schema | undefined {
  const name = schema?.$ref?.replace("#/$defs/", "");
  return name === undefined ? schema : { ...root.$defs?.[name], ...schema };
}

/** Returns the schema at a path, if there is one. */
export function schemaAt(root: Schema, path: Path): Schema | undefined {
  let schema: Schema | undefined = root;
  for (const step of path) {
    if (step === 0) {
      schema = resolve(root, schema?.items);
    } else {
      const more: Schema | boolean | undefined = schema?.additionalProperties;
      schema = resolve(root, schema?.properties?.[step] ?? (typeof more === "object" ? more : undefined));
    }
  }
  return schema;
}

/** Suggests keys and values from the schema of the document. */
export function completeBy(schemaOf: (doc: Text) => Schema): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const { doc } = context.state;
    const line = doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const root = schemaOf(doc);
    const value = /^(?<start>\s*(?:- +)*)(?<key>[^\s:#-][^:#]*):\s+(?<typed>["']?[^\s"']*)$/.exec(before)?.groups;
    if (value !== undefined) {
      const { start = "", key = "", typed = "" } = value;
      const marks = [...start.matchAll(/-/g)].map((match) => match.index);
      const path = pathAt(doc, line.number, start.length, marks);
      const schema = schemaAt(root, [...path, key.replaceAll(/^["']|["']$/g, "")]);
      return proposals(values(schema), context.pos - typed.length, context);
    }
    const started = /^(?<start>\s*(?:- +)*)(?<typed>["']?[\w./-]*)$/.exec(before)?.groups;
    if (started === undefined) {
      return null;
    }
    const { start = "", typed = "" } = started;
    const marks = [...start.matchAll(/-/g)].map((match) => match.index);
    const schema = schemaAt(root, pathAt(doc, line.number, start.length, marks));
    const options = [...keys(schema, doc), ...(marks.length > 0 ? values(schema) : [])];
    return proposals(options, context.pos - typed.length, context);
  };
}

function proposals(options: Completion[], from: number, context: CompletionContext): CompletionResult | null {
  const isAsked = context.explicit || context.pos > from || context.matchBefore(/: $/) !== null;
  return options.length > 0 && isAsked ? { from, options, validFor: /^["']?[\w./-]*$/ } : null;
}

function keys(schema: Schema | undefined, doc: Text): Completion[] {
  return Object.entries(schema?.properties ?? {}).map(([key, of]) => {
    const types = [of.type].flat().filter((type) => type !== undefined && type !== "null");
    const isNested = types.includes("object") || types.includes("array");
    return {
      label: key,
      apply: isNested ? `${key}:` : `${key}: `,
      type: "property",
      detail: of.enum === undefined ? types.join(" ") : "",
      boost: doc.length === 0 ? 0 : 1,
      ...(of.description ? { info: of.description } : {}),
    };
  });
}

function values(schema: Schema | undefined): Completion[] {
  const given = [...(schema?.enum ?? []), ...(schema?.examples ?? []), ...(Array.isArray(schema?.items?.enum) ? schema.items.enum : [])];
  return given
    .filter((value) => value !== null)
    .map((value) => ({ label: written(value), type: "enum", ...(schema?.description ? { info: schema.description } : {}) }));
}

/** Quotes a string that YAML would read as a number or boolean. */
function written(value: unknown): string {
  const text = String(value);
  return typeof value === "string" && /^(\d.*|true|false|null|yes|no|on|off)$/i.test(text) ? JSON.stringify(text) : text;
}

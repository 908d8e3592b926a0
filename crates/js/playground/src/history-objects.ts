// Finds an object before and after a step of a history.
import type { ReplayStep } from "managed-by/web";

/** The object before and after a step. */
export interface StepObjects {
  after: object;
  before: object | undefined;
}

type Document = Record<string, unknown>;

/** Returns the object before and after a step of a history. A document is one line, or several lines of which the last starts with `}`. */
export async function findStepObjects(lines: AsyncIterable<string>, step: ReplayStep): Promise<StepObjects | undefined> {
  let before: Document | undefined;
  let number = 0;
  let text = "";
  let firstLine = 1;
  for await (const line of lines) {
    number += 1;
    if (text === "") {
      firstLine = number;
    }
    text += `${line}\n`;
    const isWhole = line.startsWith("}") || (line.startsWith("{") && line.trimEnd().endsWith("}"));
    if (!isWhole && line.trim() !== "") {
      continue;
    }
    const document = text;
    text = "";
    // Most documents contain other objects. Parsing them as JSON would be slow.
    if (!document.includes(JSON.stringify(step.object.name))) {
      continue;
    }
    const object = objectIn(document);
    if (object === undefined || !isObjectOf(object, step)) {
      continue;
    }
    if (firstLine >= step.line) {
      return { after: object, before };
    }
    before = object;
  }
  return undefined;
}

/** Returns the object of a watch event or an audit event, or a plain object. */
function objectIn(text: string): Document | undefined {
  try {
    const document = JSON.parse(text) as Document;
    const object = document["responseObject"] ?? document["requestObject"] ?? document["object"] ?? document;
    return typeof object === "object" && object !== null ? (object as Document) : undefined;
  } catch {
    return undefined;
  }
}

function isObjectOf(candidate: Document, { object }: ReplayStep): boolean {
  const { name, namespace } = (candidate["metadata"] ?? {}) as Document;
  const apiVersion = String(candidate["apiVersion"]);
  const group = apiVersion.includes("/") ? apiVersion.split("/", 1)[0] : "";
  return group === object.group && candidate["kind"] === object.kind && name === object.name && (namespace ?? "") === object.namespace;
}

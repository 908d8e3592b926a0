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
    if (step.object.name !== "" && !document.includes(JSON.stringify(step.object.name))) {
      continue;
    }
    const recorded = recordIn(document, step);
    if (recorded === undefined || (recorded.isRejected && firstLine < step.line)) {
      continue;
    }
    const { object } = recorded;
    if (firstLine >= step.line) {
      return { after: object, before };
    }
    before = object;
  }
  return undefined;
}

/** Returns the step's object in a watch event, an audit event or a plain object. A rejected write contains the object that the client sent. */
function recordIn(text: string, step: ReplayStep): { object: Document; isRejected: boolean } | undefined {
  try {
    const document = JSON.parse(text) as Document;
    const isRejected = Number((document["responseStatus"] as Document | undefined)?.["code"]) >= 400;
    const object = isRejected ? sentObject(document, step) : (document["responseObject"] ?? document["requestObject"] ?? document["object"] ?? document);
    const isOfStep = typeof object === "object" && object !== null && isObjectOf(object as Document, step);
    return isOfStep ? { object: object as Document, isRejected } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the object that a client sent, with what it may omit because the URL of its request contains it. */
function sentObject({ requestObject, objectRef }: Document, { object: { kind } }: ReplayStep): Document {
  const { metadata, ...sent } = requestObject as Document;
  const { apiGroup, apiVersion, namespace, name } = objectRef as Document;
  return { apiVersion: apiGroup === undefined ? apiVersion : `${String(apiGroup)}/${String(apiVersion)}`, kind, ...sent, metadata: { namespace, name, ...(metadata as Document) } };
}

function isObjectOf(candidate: Document, { object }: ReplayStep): boolean {
  const { name, namespace } = (candidate["metadata"] ?? {}) as Document;
  const apiVersion = String(candidate["apiVersion"]);
  const group = apiVersion.includes("/") ? apiVersion.split("/", 1)[0] : "";
  return group === object.group && candidate["kind"] === object.kind && (name ?? "") === object.name && (namespace ?? "") === object.namespace;
}

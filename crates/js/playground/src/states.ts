// Finds the states of an object before and after a step of a history.
import type { ReplayStep } from "managed-by/web";

/** The object before and after a step. */
export interface States {
  now: object;
  before: object | undefined;
}

type Document = Record<string, unknown>;

/** Reads a history up to a step. A document is a line, or several whose last one is a brace alone. */
export async function statesOf(lines: AsyncIterable<string>, step: ReplayStep): Promise<States | undefined> {
  let before: Document | undefined;
  let number = 0;
  let text = "";
  let begins = 1;
  for await (const line of lines) {
    number += 1;
    if (text === "") {
      begins = number;
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
    const state = stateIn(document);
    if (state === undefined || !isOf(state, step)) {
      continue;
    }
    if (begins >= step.line) {
      return { now: state, before };
    }
    before = state;
  }
  return undefined;
}

/** Returns the object of a watch event or an audit event, or a plain object. */
function stateIn(text: string): Document | undefined {
  try {
    const document = JSON.parse(text) as Document;
    const state = document["responseObject"] ?? document["requestObject"] ?? document["object"] ?? document;
    return typeof state === "object" && state !== null ? (state as Document) : undefined;
  } catch {
    return undefined;
  }
}

function isOf(state: Document, { object }: ReplayStep): boolean {
  const { name, namespace } = (state["metadata"] ?? {}) as Document;
  return state["kind"] === object.kind && name === object.name && (namespace ?? "") === object.namespace;
}

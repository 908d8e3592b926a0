import * as glue from "../generated/managed_by.js";
import type { ReplayStep } from "../generated/types.js";
import { ManagedByError } from "./error.js";
import { guarded, read, text } from "./module.js";
import { asksAll, checked } from "./options.js";
import type { ReplayInput, ReplayOptions } from "./request.js";
import type { ReplayTally } from "./summary.js";
import { allInAll } from "./sums.js";

const encoder = new TextEncoder();

/** A history and whether its texts are lines. */
interface Parts {
  parts: AsyncIterable<ReplayInput> | Iterable<ReplayInput>;
  areLines: boolean;
}

/** Refuses what is no history. A text, or its bytes, is one part of itself. */
export function parts(lines: unknown): Parts {
  if (typeof lines === "string" || lines instanceof Uint8Array) {
    return { parts: [lines], areLines: false };
  }
  if (typeof lines === "object" && lines !== null && (Symbol.asyncIterator in lines || Symbol.iterator in lines)) {
    return { parts: lines as Parts["parts"], areLines: Array.isArray(lines) };
  }
  const got = lines === null ? "null" : typeof lines;
  throw new ManagedByError("ERR_ARGUMENT", "lines", `lines: expected text, or something to iterate over, got ${got}`);
}

/** Replays what comes. The module's memory is given back when the history ends, or the caller stops. */
export async function* replaying(history: Parts, settings: string, options: ReplayOptions): AsyncGenerator<ReplayStep, ReplayTally, void> {
  const all = asksAll(checked(options, ["releases"]));
  const replay = guarded(() => begin(settings, all));
  const joined = new Joined(history.areLines);
  const push = (bytes: Uint8Array): ReplayStep[] => read<ReplayStep[]>(guarded(() => replay.push(bytes)));
  try {
    for await (const part of history.parts) {
      if (part instanceof Uint8Array) {
        yield* push(encoder.encode(joined.flush()));
        yield* push(part);
      } else if (typeof part === "string") {
        yield* push(encoder.encode(joined.add(part)));
      } else {
        yield* push(encoder.encode(`${joined.endLine()}${object(part)}\n`));
      }
    }
    yield* push(encoder.encode(joined.flush()));
    yield* read<ReplayStep[]>(guarded(() => replay.finish()));
    return allInAll(read(guarded(() => replay.tally())));
  } finally {
    replay.free();
  }
}

function begin(settings: string, all: boolean): glue.Replaying {
  try {
    return new glue.Replaying(settings, all);
  } catch (trouble) {
    // Settings that are refused come as the text of any other answer.
    if (typeof trouble === "string") {
      return read(trouble);
    }
    throw trouble;
  }
}

function object(part: unknown): string {
  if (part === null || part === undefined) {
    throw new ManagedByError("ERR_ARGUMENT", "lines", `lines: expected bytes, text or an object, got ${String(part)}`);
  }
  return text(part, "lines");
}

/**
 * Puts texts together. A stream divides text anywhere; whoever reads lines takes their ends away. Where one text ends with a document and the next begins
 * with another, an end is missing: no stream leaves it out.
 */
class Joined {
  /** The text since the last end of a line, as it came. */
  #rest = "";
  /** Whether each text is a line: known of an array, and found out of anything else. */
  #areLines: boolean | undefined;

  constructor(areLines: boolean) {
    this.#areLines = areLines ? true : undefined;
  }

  /** What of the texts up to now may be judged. */
  add(part: string): string {
    if (this.#areLines === undefined) {
      this.#decide(part);
    }
    if (this.#areLines === true) {
      const before = this.flush();
      return before + (part.endsWith("\n") ? part : `${part}\n`);
    }
    const text = this.#rest + part;
    const end = text.lastIndexOf("\n") + 1;
    this.#rest = text.slice(end);
    return text.slice(0, end);
  }

  /** What is left, without an end. */
  flush(): string {
    const rest = this.#rest;
    this.#rest = "";
    return rest;
  }

  /** What is left, as a line. */
  endLine(): string {
    return this.#rest === "" ? "" : `${this.flush()}\n`;
  }

  #decide(part: string): void {
    if (this.#rest !== "" && part.trimStart().startsWith("{") && (isDocument(this.#rest) || isDocument(part))) {
      this.#rest += "\n";
      this.#areLines = true;
    } else if (part.trimEnd().includes("\n")) {
      this.#areLines = false;
    }
  }
}

/** Whether a text is one JSON object as a history has it: with a kind, or with an object. */
function isDocument(text: string): boolean {
  if (!text.trimEnd().endsWith("}")) {
    return false;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && ("kind" in value || "object" in value);
  } catch {
    return false;
  }
}

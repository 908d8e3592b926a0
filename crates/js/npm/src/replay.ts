import * as glue from "../generated/managed_by.js";
import type { ReplayStep } from "../generated/types.js";
import { ManagedByError } from "./error.js";
import { callModule, parseResponse, toText } from "./module.js";
import { wantsAllReleases, checked } from "./options.js";
import type { ReplayInput, ReplayOptions } from "./request.js";
import type { ReplaySummary } from "./summary.js";
import { withReplaySummary } from "./summarize.js";

const encoder = new TextEncoder();

/** A history in chunks. `areLines` is true if each text is a line. */
interface Chunks {
  chunks: AsyncIterable<ReplayInput> | Iterable<ReplayInput>;
  areLines: boolean;
}

/** Splits the argument of `replay` into chunks, and rejects other values. */
export function toChunks(lines: unknown): Chunks {
  if (typeof lines === "string" || lines instanceof Uint8Array) {
    return { chunks: [lines], areLines: false };
  }
  if (typeof lines === "object" && lines !== null && (Symbol.asyncIterator in lines || Symbol.iterator in lines)) {
    return { chunks: lines as Chunks["chunks"], areLines: Array.isArray(lines) };
  }
  const got = lines === null ? "null" : typeof lines;
  throw new ManagedByError("ERR_INVALID_ARGUMENT", "lines", `lines: expected text, or something to iterate over, got ${got}`);
}

/** Replays a history. The module's memory is freed at the end of the history, or when the caller stops. */
export async function* replayChunks(history: Chunks, settings: string, options: ReplayOptions): AsyncGenerator<ReplayStep, ReplaySummary, void> {
  const all = wantsAllReleases(checked(options, ["releases"]));
  const replay = callModule(() => begin(settings, all));
  const joined = new Joined(history.areLines);
  const push = (bytes: Uint8Array): ReplayStep[] => parseResponse<ReplayStep[]>(callModule(() => replay.push(bytes)));
  try {
    for await (const chunk of history.chunks) {
      if (chunk instanceof Uint8Array) {
        yield* push(encoder.encode(joined.flush()));
        yield* push(chunk);
      } else if (typeof chunk === "string") {
        yield* push(encoder.encode(joined.add(chunk)));
      } else {
        yield* push(encoder.encode(`${joined.endLine()}${object(chunk)}\n`));
      }
    }
    yield* push(encoder.encode(joined.flush()));
    yield* parseResponse<ReplayStep[]>(callModule(() => replay.finish()));
    return withReplaySummary(parseResponse(callModule(() => replay.tally())));
  } finally {
    replay.free();
  }
}

function begin(settings: string, all: boolean): glue.Replayer {
  try {
    return new glue.Replayer(settings, all);
  } catch (error) {
    // The constructor throws invalid settings as a serialized response.
    if (typeof error === "string") {
      return parseResponse(error);
    }
    throw error;
  }
}

function object(chunk: unknown): string {
  if (chunk === null || chunk === undefined) {
    throw new ManagedByError("ERR_INVALID_ARGUMENT", "lines", `lines: expected bytes, text or an object, got ${String(chunk)}`);
  }
  return toText(chunk, "lines");
}

/**
 * Joins texts. Chunks of a stream can end anywhere, and line readers remove line ends. If one text ends with a complete document and the
 * next one starts another, the texts are lines without line ends.
 */
class Joined {
  /** Text after the last line end. */
  #rest = "";
  /** True if each text is a line. Known for an array, and otherwise detected from the first texts. */
  #areLines: boolean | undefined;

  constructor(areLines: boolean) {
    this.#areLines = areLines ? true : undefined;
  }

  /** Adds a text and returns the complete lines. */
  add(chunk: string): string {
    if (this.#areLines === undefined) {
      this.#decide(chunk);
    }
    if (this.#areLines === true) {
      const before = this.flush();
      return before + (chunk.endsWith("\n") ? chunk : `${chunk}\n`);
    }
    const text = this.#rest + chunk;
    const end = text.lastIndexOf("\n") + 1;
    this.#rest = text.slice(end);
    return text.slice(0, end);
  }

  /** Returns the rest without a line end. */
  flush(): string {
    const rest = this.#rest;
    this.#rest = "";
    return rest;
  }

  /** Returns the rest as a line. */
  endLine(): string {
    return this.#rest === "" ? "" : `${this.flush()}\n`;
  }

  #decide(chunk: string): void {
    if (this.#rest !== "" && chunk.trimStart().startsWith("{") && (isDocument(this.#rest) || isDocument(chunk))) {
      this.#rest += "\n";
      this.#areLines = true;
    } else if (chunk.trimEnd().includes("\n")) {
      this.#areLines = false;
    }
  }
}

/** Returns true if a text is a JSON object with a kind or an object, as in a history. */
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

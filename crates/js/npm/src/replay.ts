import * as glue from "../generated/managed_by.js";
import type { ReplayStep } from "../generated/types.js";
import { invalidArgument } from "./error.js";
import { callModule, describeInvalid, keepInstance, parseResponse, toText } from "./module.js";
import { onlyReleases } from "./options.js";
import type { ReplayInput, ReplayOptions } from "./request.js";
import type { ReplaySummary } from "./summary.js";
import { withReplaySummary } from "./summarize.js";

const encoder = new TextEncoder();

/** A history in chunks. */
interface ChunkedInput {
  chunks: AsyncIterable<ReplayInput> | Iterable<ReplayInput>;
  /** True if each text is a line. */
  areLines: boolean;
}

/** Returns the argument of `replay` as chunks. Rejects values that are neither text, bytes nor iterable. */
export function parseInput(lines: unknown): ChunkedInput {
  if (typeof lines === "string" || lines instanceof Uint8Array) {
    return { chunks: [lines], areLines: false };
  }
  if (typeof lines === "object" && lines !== null && (Symbol.asyncIterator in lines || Symbol.iterator in lines)) {
    return { chunks: lines as ChunkedInput["chunks"], areLines: Array.isArray(lines) };
  }
  throw invalidArgument("lines", `expected text, bytes, or an iterable of lines or chunks, got ${describeInvalid(lines) ?? "a plain object"}`);
}

/** Replays a history. The module's memory is freed at the end of the history, or when the caller stops. */
export async function* replayInput(input: ChunkedInput, settings: string, options: ReplayOptions): AsyncGenerator<ReplayStep, ReplaySummary, void> {
  const releases = onlyReleases(options);
  const releaseInstance = keepInstance();
  try {
    const replayer = callModule(() => createReplayer(settings, releases));
    try {
      return yield* replayWith(replayer, input);
    } finally {
      replayer.free();
    }
  } finally {
    releaseInstance();
  }
}

async function* replayWith(replayer: glue.Replayer, input: ChunkedInput): AsyncGenerator<ReplayStep, ReplaySummary, void> {
  const assembler = new LineAssembler(input.areLines);
  const push = (bytes: Uint8Array): ReplayStep[] => parseResponse<ReplayStep[]>(callModule(() => replayer.push(bytes)));
  for await (const chunk of input.chunks) {
    if (chunk instanceof Uint8Array) {
      yield* push(encoder.encode(assembler.flush()));
      yield* push(chunk);
    } else if (typeof chunk === "string") {
      yield* push(encoder.encode(assembler.push(chunk)));
    } else {
      yield* push(encoder.encode(`${assembler.endLine()}${toText(chunk, "lines")}\n`));
    }
  }
  yield* push(encoder.encode(assembler.flush()));
  yield* parseResponse<ReplayStep[]>(callModule(() => replayer.finish()));
  return withReplaySummary(parseResponse(callModule(() => replayer.tally())));
}

function createReplayer(settings: string, releases: string | undefined): glue.Replayer {
  try {
    return new glue.Replayer(settings, releases);
  } catch (error) {
    // If the settings are invalid, the constructor throws a serialized error response. parseResponse throws it as a ManagedByError.
    if (typeof error === "string") {
      return parseResponse(error);
    }
    throw error;
  }
}

/**
 * Assembles lines from texts. Chunks of a stream can end anywhere, and line readers remove line ends. If a text without a line end is
 * followed by one that starts with `{`, and either is a complete record, the texts are lines without line ends.
 */
class LineAssembler {
  /** Text after the last line end. */
  #incompleteLine = "";
  /** True if each text is a line, as in an array. Undefined until the first texts show it. */
  #areLines: boolean | undefined;

  constructor(areLines: boolean) {
    this.#areLines = areLines ? true : undefined;
  }

  /** Adds a text and returns the complete lines. */
  push(chunk: string): string {
    if (this.#areLines === undefined) {
      this.#detectLines(chunk);
    }
    if (this.#areLines === true) {
      const before = this.flush();
      return before + (chunk.endsWith("\n") ? chunk : `${chunk}\n`);
    }
    const text = this.#incompleteLine + chunk;
    const end = text.lastIndexOf("\n") + 1;
    this.#incompleteLine = text.slice(end);
    return text.slice(0, end);
  }

  /** Removes and returns the incomplete line. */
  flush(): string {
    const line = this.#incompleteLine;
    this.#incompleteLine = "";
    return line;
  }

  /** Removes and returns the incomplete line with a line end. */
  endLine(): string {
    return this.#incompleteLine === "" ? "" : `${this.flush()}\n`;
  }

  #detectLines(chunk: string): void {
    // After these characters, the chunk is a value in the record.
    const isValue = /[:,[]\s*$/.test(this.#incompleteLine);
    if (this.#incompleteLine !== "" && !isValue && chunk.trimStart().startsWith("{") && (isRecord(this.#incompleteLine) || isRecord(chunk))) {
      this.#incompleteLine += "\n";
      this.#areLines = true;
    } else if (chunk.trimEnd().includes("\n")) {
      this.#areLines = false;
    }
  }
}

/** Returns true if a text is a complete record of a history: a JSON object with a kind or an object. */
function isRecord(text: string): boolean {
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

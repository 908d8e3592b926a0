import * as glue from "../generated/managed_by.js";
import type { ReplayStep, ReplayTally } from "../generated/types.js";
import { ManagedByError } from "./error.js";
import { guarded, read, text } from "./module.js";
import { asksAll, checked } from "./options.js";
import type { ReplayInput, ReplayOptions } from "./request.js";

const encoder = new TextEncoder();

/** Replays what comes. The module's memory is given back when the history ends, or the caller stops. */
export async function* replaying(
  lines: AsyncIterable<ReplayInput> | Iterable<ReplayInput>,
  settings: string,
  options: ReplayOptions,
): AsyncGenerator<ReplayStep, ReplayTally, void> {
  const all = asksAll(checked(options, ["releases"]));
  const history = guarded(() => begin(settings, all));
  try {
    for await (const part of lines) {
      const bytes = part instanceof Uint8Array ? part : encoder.encode(line(part));
      yield* read<ReplayStep[]>(guarded(() => history.push(bytes)));
    }
    yield* read<ReplayStep[]>(guarded(() => history.finish()));
    return read<ReplayTally>(guarded(() => history.tally()));
  } finally {
    history.free();
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

/** A line of a text, or an object, as the history has it: its end tells where the next one begins. */
function line(part: string | object): string {
  if (part === null || part === undefined) {
    throw new ManagedByError("ERR_ARGUMENT", "lines", `lines: expected bytes, text or an object, got ${String(part)}`);
  }
  const line = text(part, "lines");
  return line.endsWith("\n") ? line : `${line}\n`;
}

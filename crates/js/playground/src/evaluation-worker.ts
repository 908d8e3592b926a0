// Evaluates the input in a worker, so that typing is not delayed.
import { init } from "managed-by/web";
import { type Cursor, evaluate, type InputEvaluation } from "./evaluation.js";
import type { Input } from "./input.js";

export interface EvaluationRequest {
  input: Input;
  cursor: Cursor;
}

export type EvaluationResponse = { kind: "evaluation"; evaluation: InputEvaluation } | { kind: "not-loaded" | "failed"; message: string };

const loaded = init();
// Each response reports the error, and the first request may arrive after it.
loaded.catch(() => undefined);

addEventListener("message", async ({ data }: MessageEvent<EvaluationRequest>) => postMessage(await responseTo(data)));

async function responseTo({ input, cursor }: EvaluationRequest): Promise<EvaluationResponse> {
  try {
    await loaded;
  } catch (error) {
    return { kind: "not-loaded", message: messageOf(error) };
  }
  try {
    return { kind: "evaluation", evaluation: evaluate(input, cursor) };
  } catch (error) {
    return { kind: "failed", message: messageOf(error) };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Replays a file in a worker, so that the page stays responsive.
import { init, ManagedByError, replay, type ReplayStep, type ReplaySummary } from "managed-by/web";
import { type States, statesOf } from "./states.js";

/** File to replay with settings, or to search for the states of a step. */
export type Job = { file: Blob; settings: string } | { file: Blob; step: ReplayStep };

export type WorkerMessage =
  | { kind: "progress"; bytes: number; steps: ReplayStep[] }
  | { kind: "done"; tally: ReplaySummary }
  | { kind: "states"; states: States | undefined }
  | { kind: "failed"; message: string };

/** Maximum number of listed steps. The totals count all of them. */
const MAX_STEPS = 5000;
/** Interval of progress messages in milliseconds. */
const EVERY = 50;

const post = (message: WorkerMessage): void => {
  postMessage(message);
};

addEventListener("message", (event: MessageEvent<Job>) => {
  const job = event.data;
  const done = "step" in job ? find(job.file, job.step) : run(job);
  done.catch((error: unknown) => {
    const message = error instanceof ManagedByError || error instanceof Error ? error.message : String(error);
    post({ kind: "failed", message });
  });
});

async function run({ file, settings }: { file: Blob; settings: string }): Promise<void> {
  await init();
  let bytes = 0;
  let posted = 0;
  let count = 0;
  let steps: ReplayStep[] = [];
  const report = (): void => {
    post({ kind: "progress", bytes, steps });
    steps = [];
    posted = performance.now();
  };
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      controller.enqueue(chunk);
      if (performance.now() - posted >= EVERY) {
        report();
      }
    },
  });
  const stream = await unpacked(file, file.stream().pipeThrough(counted));
  const history = replay(chunks(stream), settings);
  for (let next = await history.next(); ; next = await history.next()) {
    if (next.done === true) {
      report();
      post({ kind: "done", tally: next.value });
      return;
    }
    count += 1;
    if (count <= MAX_STEPS) {
      steps.push(next.value);
    }
  }
}

async function find(file: Blob, step: ReplayStep): Promise<void> {
  post({ kind: "states", states: await statesOf(linesOf(await unpacked(file, file.stream())), step) });
}

/** Returns the stream of a file, decompressed if necessary. */
async function unpacked(file: Blob, stream: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> {
  // TypeScript's type accepts any buffer source.
  const unpack = new DecompressionStream("gzip") as ReadableWritablePair<Uint8Array, Uint8Array>;
  return (await isGzip(file)) ? stream.pipeThrough(unpack) : stream;
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks(stream)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") {
    yield rest;
  }
}

async function isGzip(file: Blob): Promise<boolean> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return first === 0x1f && second === 0x8b;
}

/** Converts a stream to an iterable, for browsers whose streams are not iterable. */
async function* chunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    yield next.value;
  }
}

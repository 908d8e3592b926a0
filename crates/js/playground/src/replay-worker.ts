// Replays a file in a worker, so that the page stays responsive.
import { init, replay, type ReplayStep, type ReplaySummary } from "managed-by/web";
import { findStepObjects, type StepObjects } from "./history-objects.js";

/** File to replay with settings, or to search for the objects of a step. */
export type ReplayRequest = { file: Blob; settings: string } | { file: Blob; step: ReplayStep };

export type ReplayResponse =
  | { kind: "progress"; bytes: number; steps: ReplayStep[] }
  | { kind: "done"; summary: ReplaySummary }
  | { kind: "objects"; objects: StepObjects | undefined }
  | { kind: "failed"; message: string };

/** Maximum number of steps sent to the page. The totals include all steps. */
const MAX_STEPS = 5000;
/** Interval of progress messages in milliseconds. */
const INTERVAL = 50;

const post = (message: ReplayResponse): void => {
  postMessage(message);
};

addEventListener("message", (event: MessageEvent<ReplayRequest>) => {
  const request = event.data;
  const done = "step" in request ? findObjects(request.file, request.step) : replayFile(request);
  done.catch((error: unknown) => {
    post({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  });
});

async function replayFile({ file, settings }: { file: Blob; settings: string }): Promise<void> {
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
      if (performance.now() - posted >= INTERVAL) {
        report();
      }
    },
  });
  const stream = await decompress(file, file.stream().pipeThrough(counted));
  const history = replay(chunks(stream), settings);
  for (let next = await history.next(); ; next = await history.next()) {
    if (next.done === true) {
      report();
      post({ kind: "done", summary: next.value });
      return;
    }
    count += 1;
    if (count <= MAX_STEPS) {
      steps.push(next.value);
    }
  }
}

async function findObjects(file: Blob, step: ReplayStep): Promise<void> {
  post({ kind: "objects", objects: await findStepObjects(linesOf(await decompress(file, file.stream())), step) });
}

/** Returns the stream of a file, decompressed if it is gzip. */
async function decompress(file: Blob, stream: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> {
  // TypeScript's type accepts any buffer source.
  const decompressor = new DecompressionStream("gzip") as ReadableWritablePair<Uint8Array, Uint8Array>;
  return (await isGzip(file)) ? stream.pipeThrough(decompressor) : stream;
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

// Replays a file away from the page, so that the page stays as quick as it was.
import { init, ManagedByError, replay, type ReplayStep, type ReplayTally } from "managed-by/web";

export interface Job {
  file: Blob;
  settings: string;
}

export type News =
  | { kind: "progress"; bytes: number; steps: ReplayStep[] }
  | { kind: "done"; tally: ReplayTally }
  | { kind: "failed"; message: string };

/** More steps than anybody reads would only fill the memory of the page; the sums count all of them. */
const MAX_STEPS = 5000;
/** The page hears of it this often, in milliseconds. */
const EVERY = 50;

const tell = (news: News): void => {
  postMessage(news);
};

addEventListener("message", (event: MessageEvent<Job>) => {
  run(event.data).catch((error: unknown) => {
    const message = error instanceof ManagedByError || error instanceof Error ? error.message : String(error);
    tell({ kind: "failed", message });
  });
});

async function run({ file, settings }: Job): Promise<void> {
  await init();
  let bytes = 0;
  let told = 0;
  let count = 0;
  let steps: ReplayStep[] = [];
  const report = (): void => {
    tell({ kind: "progress", bytes, steps });
    steps = [];
    told = performance.now();
  };
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      controller.enqueue(chunk);
      if (performance.now() - told >= EVERY) {
        report();
      }
    },
  });
  let stream = file.stream().pipeThrough(counted);
  if (await isGzip(file)) {
    // TypeScript knows its input as any kind of bytes.
    stream = stream.pipeThrough(new DecompressionStream("gzip") as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array>);
  }
  const history = replay(chunks(stream), settings);
  for (let next = await history.next(); ; next = await history.next()) {
    if (next.done === true) {
      report();
      tell({ kind: "done", tally: next.value });
      return;
    }
    count += 1;
    if (count <= MAX_STEPS) {
      steps.push(next.value);
    }
  }
}

async function isGzip(file: Blob): Promise<boolean> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return first === 0x1f && second === 0x8b;
}

/** A stream as an iterable: not every browser's is one. */
async function* chunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    yield next.value;
  }
}

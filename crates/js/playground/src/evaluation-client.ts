// Requests evaluations from the worker, one at a time.
import type { EvaluationRequest, EvaluationResponse } from "./evaluation-worker.js";

/** Length of a text that is evaluated only when the user pauses. */
const LONG = 50_000;
/** The pause in milliseconds. */
const PAUSE = 200;

/** Evaluates the newest input; inputs that arrive during an evaluation replace each other. */
export class EvaluationClient {
  readonly #read: () => EvaluationRequest;
  readonly #show: (response: EvaluationResponse) => void;
  #worker: Worker | undefined;
  #isBusy = false;
  /** True if the input changed since the last request. */
  #isChanged = false;
  #timer: number | undefined;

  /** Receives a function that reads the input, and one that shows the response. */
  constructor(read: () => EvaluationRequest, show: (response: EvaluationResponse) => void) {
    this.#read = read;
    this.#show = show;
  }

  /** Requests an evaluation of the current input. Does not read it before the current task ends. */
  request(length: number): void {
    this.#isChanged = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, length > LONG ? PAUSE : 0);
  }

  /** Starts a new worker, which loads the module again. */
  restart(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#isBusy = false;
    this.request(0);
  }

  #send(): void {
    if (this.#isBusy || !this.#isChanged) {
      return;
    }
    this.#isChanged = false;
    this.#isBusy = true;
    this.#worker ??= this.#start();
    this.#worker.postMessage(this.#read());
  }

  #start(): Worker {
    const worker = new Worker(new URL("./evaluation-worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<EvaluationResponse>) => this.#receive(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#receive({ kind: "not-loaded", message: event.message || "The browser cannot load evaluation-worker.js." });
    });
    return worker;
  }

  #receive(response: EvaluationResponse): void {
    this.#isBusy = false;
    // Show a response even if a newer input waits, so that continuous typing does not hide all of them.
    this.#show(response);
    if (this.#timer === undefined) {
      this.#send();
    }
  }

  /** True until the newest input is evaluated. */
  get isPending(): boolean {
    return this.#isBusy || this.#isChanged;
  }
}

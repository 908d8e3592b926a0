// Replay of a history: progress, timeline and findings.
import { explain, type ReplayStep, type ReplaySummary } from "managed-by/web";
import { byId, h, prose, svg } from "./dom.js";
import type { Operation, Input } from "./input.js";
import type { Job, WorkerMessage } from "./replay-worker.js";
import { toYaml } from "./yaml.js";

/** Number of bars in the timeline. */
const BARS = 120;
/** Maximum number of listed steps. */
const LISTED = 200;

interface Bar {
  denied: number;
  warned: number;
  skipped: number;
}

/** Replays one file at a time. A new replay cancels the previous one. */
export class ReplayView {
  readonly #panel = byId("replay");
  readonly #progress = byId<HTMLProgressElement>("replay-progress");
  readonly #status = byId("replay-status");
  readonly #timeline = byId("replay-timeline");
  readonly #result = byId("replay-result");
  #worker: Worker | undefined;
  #steps: { step: ReplayStep; at: number }[] = [];

  #file: File | undefined;
  readonly #open: (input: Partial<Input>) => void;

  /** Takes a function that opens a step as the page's input. */
  constructor(open: (input: Partial<Input>) => void) {
    this.#open = open;
    byId("replay-close").addEventListener("click", () => this.close());
  }

  get isOpen(): boolean {
    return !this.#panel.hidden;
  }

  close(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#panel.hidden = true;
    document.body.classList.remove("replaying");
  }

  /** Replays a file for one release, or with unchanged settings. */
  start(file: File, settings: string, release?: string): void {
    this.#worker?.terminate();
    this.#steps = [];
    this.#file = file;
    this.#panel.hidden = false;
    document.body.classList.add("replaying");
    byId("replay-name").textContent = file.name;
    this.#progress.hidden = false;
    this.#progress.value = 0;
    this.#result.replaceChildren();
    this.#timeline.replaceChildren();
    byId("replay-heading").focus();
    const began = performance.now();
    const worker = new Worker(new URL("./replay-worker.js", import.meta.url), { type: "module" });
    this.#worker = worker;
    worker.addEventListener("message", ({ data }: MessageEvent<WorkerMessage>) => {
      if (data.kind === "progress") {
        const share = file.size === 0 ? 1 : data.bytes / file.size;
        this.#steps.push(...data.steps.map((step) => ({ step, at: share })));
        this.#progress.value = share;
        this.#status.textContent = `${size(data.bytes)} of ${size(file.size)}, ${this.#steps.length} with findings`;
        this.#draw();
      } else if (data.kind !== "states") {
        this.#progress.hidden = true;
        worker.terminate();
        if (data.kind === "failed") {
          this.#status.textContent = data.message;
        } else {
          const seconds = (performance.now() - began) / 1000;
          this.#status.textContent = `${size(file.size)} in ${seconds.toFixed(1)} seconds`;
          this.#show(data.tally, release);
        }
      }
    });
    worker.addEventListener("error", (event) => {
      this.#progress.hidden = true;
      this.#status.textContent = `The replay stopped: ${event.message}`;
    });
    const job: Job = { file, settings };
    worker.postMessage(job);
  }

  /** Opens a step in the editors, with the object before and after it. */
  #showStep(step: ReplayStep): void {
    const worker = new Worker(new URL("./replay-worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<WorkerMessage>) => {
      worker.terminate();
      if (data.kind !== "states" || data.states === undefined) {
        this.#status.textContent = `The states of line ${step.line} are not in the file as objects.`;
        return;
      }
      const { now, before } = data.states;
      const operation: Operation = step.operation === "CREATE" || before === undefined ? "create" : step.subResource === "status" ? "status" : "update";
      this.#open({ operation, object: yaml(now), oldObject: operation === "create" || before === undefined ? "" : yaml(before), username: step.username ?? "", groups: "" });
    });
    if (this.#file !== undefined) {
      const job: Job = { file: this.#file, step };
      worker.postMessage(job);
    }
  }

  /** Draws the timeline of denials and warnings over the length of the file. */
  #draw(lines?: number): void {
    const bars: Bar[] = Array.from({ length: BARS }, () => ({ denied: 0, warned: 0, skipped: 0 }));
    for (const { step, at } of this.#steps) {
      const share = lines === undefined ? at : (step.line - 1) / Math.max(lines, 1);
      const bar = bars[Math.min(Math.floor(share * BARS), BARS - 1)];
      if (bar !== undefined) {
        bar[step.verdict === undefined ? "skipped" : step.verdict.allowed ? "warned" : "denied"] += 1;
      }
    }
    const highest = Math.max(1, ...bars.map((bar) => bar.denied + bar.warned + bar.skipped));
    const picture = svg("svg", { viewBox: `0 0 ${BARS * 6} 64`, preserveAspectRatio: "none", role: "img", "aria-label": "Denials, warnings and skipped records over the history" });
    bars.forEach((bar, index) => {
      let y = 62;
      for (const kind of ["denied", "warned", "skipped"] as const) {
        const height = bar[kind] === 0 ? 0 : Math.max(2, (bar[kind] / highest) * 58);
        if (height > 0) {
          y -= height;
          picture.append(svg("rect", { class: kind, x: index * 6, y, width: 5, height }));
        }
      }
    });
    picture.append(svg("line", { class: "ground", x1: 0, x2: BARS * 6, y1: 63, y2: 63 }));
    this.#timeline.replaceChildren(picture);
  }

  #show(tally: ReplaySummary, release?: string): void {
    const { counts, rows, unknown } = tally;
    this.#draw(counts.lines);
    const number = (count: number, word: string, kind = ""): HTMLElement => h("div", { class: kind }, h("dd", {}, count.toLocaleString("en")), h("dt", {}, word));
    const sums = h(
      "dl",
      { class: "sums" },
      number(counts.evaluated, "evaluated"),
      number(counts.denied, "denied", "denied"),
      number(counts.warned, "warned", "warned"),
      number(counts.skipped, "not evaluated"),
      number(counts.live, "objects live"),
    );
    const parts: HTMLElement[] = [sums];
    if (rows.length > 0) {
      parts.push(table(tally, release));
    }
    if (unknown.length > 0) {
      parts.push(h("p", { class: "note" }, `Unsupported kinds: ${unknown.join(", ")}.`));
    }
    if (this.#steps.length > 0) {
      // List denials first, because there may be thousands of warnings.
      const isDenial = ({ step }: { step: ReplayStep }): boolean => step.verdict?.allowed === false;
      const ordered = [...this.#steps.filter(isDenial), ...this.#steps.filter((step) => !isDenial(step))];
      const shown = ordered.slice(0, LISTED).map(({ step }) => item(step, () => this.#showStep(step)));
      const rest = this.#steps.length - shown.length;
      parts.push(h("h3", {}, "One by one"), h("ol", { class: "steps" }, ...shown));
      if (rest > 0) {
        parts.push(h("p", { class: "note" }, `${rest.toLocaleString("en")} more are counted above.`));
      }
    } else {
      parts.push(h("p", { class: "note" }, "No findings in this history."));
    }
    this.#result.replaceChildren(...parts);
  }
}

function table(tally: ReplaySummary, release?: string): HTMLElement {
  const [ofRule, ...labels] = ["Rule", "Kind", "Times", "Releases", "Lines", "First object"];
  const head = h("tr", {}, ...[ofRule ?? "", ...labels].map((text) => h("th", { scope: "col" }, text)));
  const rows = tally.rows.map((row) => {
    const { object } = row;
    const cells: [string, string][] = [
      ["", row.kind],
      ["number", row.count.toLocaleString("en")],
      ["", row.releases?.join(", ") ?? release ?? "all"],
      ["number", row.firstLine === row.lastLine ? String(row.firstLine) : `${row.firstLine} to ${row.lastLine}`],
      ["", [object.namespace, object.name].filter((part) => part !== "").join("/") + (row.username === undefined ? "" : ` by ${row.username}`)],
    ];
    return h(
      "tr",
      {},
      h("th", { scope: "row", title: explain(row.rule).title }, h("span", { class: `badge ${row.enforcement}` }, row.enforcement === "deny" ? "denies" : "warns"), " ", h("code", {}, row.rule)),
      // In a narrow window, rows are blocks and each cell has a label.
      ...cells.map(([kind, text], index) => h("td", { class: kind, "data-label": labels[index] }, text)),
    );
  });
  const ofSettings = "What each rule found, with the settings on the page. Where those name no release, `all` deny or the ones that are named.";
  const caption = h("caption", {}, prose(release === undefined ? ofSettings : `What each rule found on Kubernetes ${release}, with the settings on the page.`));
  return h("table", {}, caption, h("thead", {}, head), h("tbody", {}, ...rows));
}

/** Formats an object as YAML without `managedFields`. */
function yaml(object: object): string {
  const { metadata, ...others } = object as { metadata?: Record<string, unknown> };
  const { managedFields: _, ...rest } = metadata ?? {};
  return toYaml({ ...("apiVersion" in others ? { apiVersion: others.apiVersion } : {}), ...("kind" in others ? { kind: others.kind } : {}), metadata: rest, ...others });
}

function item(step: ReplayStep, open: () => void): HTMLElement {
  const { object, verdict } = step;
  const word = verdict === undefined ? "not evaluated" : verdict.allowed ? "warned" : "denied";
  const kind = verdict === undefined ? "none" : verdict.allowed ? "warn" : "deny";
  const name = [object.kind, [object.namespace, object.name].filter((part) => part !== "").join("/")].join(" ").trim();
  const what = step.operation === undefined ? "" : `${step.operation.toLowerCase()}${step.subResource === "status" ? " of the status" : ""} `;
  const text = verdict?.message ?? verdict?.warnings[0] ?? step.message ?? "";
  return h(
    "li",
    {},
    h("span", { class: `badge ${kind}` }, word),
    h("span", { class: "where" }, `line ${step.line}${step.time === undefined ? "" : `, ${step.time}`}`),
    h("span", { class: "what" }, what, h("strong", {}, name)),
    verdict !== undefined && h("button", { type: "button", class: "place", onclick: open }, `Open line ${step.line} in the editors`),
    h("p", { class: "message" }, text),
  );
}

function size(bytes: number): string {
  return bytes < 1e5 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

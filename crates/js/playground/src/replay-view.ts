// Replay of a history: progress, totals and findings.
import { explain, type ReplayStep, type ReplaySummary } from "managed-by/web";
import { byId, h } from "./dom.js";
import type { Operation, Input } from "./input.js";
import type { ReplayRequest, ReplayResponse } from "./replay-worker.js";
import { toYaml } from "./yaml.js";

/** Maximum number of listed steps. */
const LISTED = 200;

/** Replays one file at a time. A new replay cancels the previous one. */
export class ReplayView {
  readonly #panel = byId("replay");
  readonly #progress = byId<HTMLProgressElement>("replay-progress");
  readonly #status = byId("replay-status");
  readonly #result = byId("replay-result");
  #worker: Worker | undefined;
  #steps: ReplayStep[] = [];
  #file: File | undefined;
  readonly #open: (input: Partial<Input>) => void;

  /** Receives a function that opens a step as the page's input. */
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
    byId("replay-heading").focus();
    const worker = new Worker(new URL("./replay-worker.js", import.meta.url), { type: "module" });
    this.#worker = worker;
    worker.addEventListener("message", ({ data }: MessageEvent<ReplayResponse>) => {
      if (data.kind === "progress") {
        this.#steps.push(...data.steps);
        this.#progress.value = file.size === 0 ? 1 : data.bytes / file.size;
        this.#status.textContent = `${size(data.bytes)} of ${size(file.size)}, ${this.#steps.length} steps reported`;
      } else if (data.kind !== "objects") {
        this.#progress.hidden = true;
        worker.terminate();
        if (data.kind === "failed") {
          this.#status.textContent = data.message;
        } else {
          this.#status.textContent = `${count(data.summary.lines, "line")}, ${size(file.size)}`;
          this.#show(data.summary, release);
        }
      }
    });
    worker.addEventListener("error", (event) => {
      this.#progress.hidden = true;
      this.#status.textContent = `The replay stopped: ${event.message}`;
    });
    const request: ReplayRequest = { file, settings };
    worker.postMessage(request);
  }

  /** Opens a step in the editors, with the object before and after it. */
  #showStep(step: ReplayStep): void {
    const worker = new Worker(new URL("./replay-worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<ReplayResponse>) => {
      worker.terminate();
      if (data.kind !== "objects" || data.objects === undefined) {
        this.#status.textContent = `The file does not contain the objects of line ${step.line}.`;
        return;
      }
      const { after, before } = data.objects;
      const operation: Operation = step.operation === "CREATE" || before === undefined ? "create" : step.subResource === "status" ? "status" : "update";
      this.#open({ operation, object: yaml(after), oldObject: operation === "create" || before === undefined ? "" : yaml(before), username: step.username ?? "", groups: "" });
    });
    if (this.#file !== undefined) {
      const request: ReplayRequest = { file: this.#file, step };
      worker.postMessage(request);
    }
  }

  #show(summary: ReplaySummary, release?: string): void {
    const unsupported = Object.keys(summary.unsupported);
    const total = (value: number, label: string, kind = ""): HTMLElement => h("div", { class: kind }, h("dd", {}, value.toLocaleString("en")), h("dt", {}, label));
    const totals = h(
      "dl",
      { class: "totals" },
      total(summary.evaluated, "evaluated"),
      total(summary.denied, "denied", "denied"),
      total(summary.warned, "warned", "warned"),
      total(summary.rejected, "rejected by the API server"),
      total(summary.summary.errors, "not evaluated"),
      total(summary.live, "objects at the end"),
    );
    const parts: HTMLElement[] = [totals];
    if (summary.rows.length > 0) {
      parts.push(table(summary, release));
    }
    if (summary.transientRejections > 0) {
      parts.push(h("p", { class: "note" }, `${summary.transientRejections.toLocaleString("en")} of the rejected writes are not listed: conflicts, missing objects and errors of the server, which correct controllers get too.`));
    }
    if (unsupported.length > 0) {
      parts.push(h("p", { class: "note" }, `Unsupported kinds: ${unsupported.join(", ")}.`));
    }
    if (this.#steps.length > 0) {
      // List denials first, because there may be thousands of warnings.
      const ordered = [...this.#steps.filter(isDenial), ...this.#steps.filter((step) => !isDenial(step))];
      const shown = ordered.slice(0, LISTED).map((step) => stepItem(step, () => this.#showStep(step)));
      const rest = this.#steps.length - shown.length;
      parts.push(h("h3", {}, "Findings"), h("ol", { class: "steps" }, ...shown));
      if (rest > 0) {
        parts.push(h("p", { class: "note" }, `${rest.toLocaleString("en")} more are included in the totals.`));
      }
    } else {
      parts.push(h("p", { class: "note" }, "No findings in this history."));
    }
    this.#result.replaceChildren(...parts);
  }
}

function table(summary: ReplaySummary, release?: string): HTMLElement {
  const labels = ["Kind", "Times", "Releases", "Lines", "First object"];
  const head = h("tr", {}, ...["Rule", ...labels].map((text) => h("th", { scope: "col" }, text)));
  const rows = summary.rows.map((row) => {
    const { object } = row;
    const cells: [string, string][] = [
      ["", row.kind],
      ["number", row.count.toLocaleString("en")],
      ["", row.releases?.join(", ") ?? release ?? "all"],
      ["number", row.first.line === row.last.line ? String(row.first.line) : `${row.first.line} to ${row.last.line}`],
      ["", [object.namespace, object.name].filter((part) => part !== "").join("/") + (row.user === undefined ? "" : ` by ${row.user}`)],
    ];
    return h(
      "tr",
      {},
      h("th", { scope: "row", title: explain(row.rule).title }, h("span", { class: `badge ${row.enforcement}` }, row.enforcement === "deny" ? "denies" : "warns"), " ", h("code", {}, row.rule)),
      // In a narrow window, rows are blocks and each cell has a label.
      ...cells.map(([kind, text], index) => h("td", { class: kind, "data-label": labels[index] }, text)),
    );
  });
  const text = release === undefined ? "Findings of each rule, with the settings on the page. The Releases column lists the releases that report the finding." : `Findings of each rule on Kubernetes ${release}, with the settings on the page.`;
  const caption = h("caption", {}, text);
  return h("table", {}, caption, h("thead", {}, head), h("tbody", {}, ...rows));
}

/** Returns true if the policy denies a write, or the API server rejected it. */
function isDenial({ verdict, rejection }: ReplayStep): boolean {
  return rejection !== undefined || verdict?.allowed === false;
}

/** Returns true if a rule has a finding. A step without one is listed because of parts that were not evaluated. */
function isWarning({ verdict }: ReplayStep): boolean {
  return verdict !== undefined && verdict.warnings.length + verdict.findings.length > 0;
}

/** Formats an object as YAML without `managedFields`. */
function yaml(object: object): string {
  const { metadata, ...others } = object as { metadata?: Record<string, unknown> };
  const { managedFields: _, ...rest } = metadata ?? {};
  return toYaml({ ...("apiVersion" in others ? { apiVersion: others.apiVersion } : {}), ...("kind" in others ? { kind: others.kind } : {}), metadata: rest, ...others });
}

function stepItem(step: ReplayStep, open: () => void): HTMLElement {
  const { object, verdict, rejection } = step;
  const outcome = rejection !== undefined ? "rejected" : isDenial(step) ? "denied" : isWarning(step) ? "warned" : "not evaluated";
  const kind = isDenial(step) ? "deny" : isWarning(step) ? "warn" : "none";
  const name = [object.kind, [object.namespace, object.name].filter((part) => part !== "").join("/")].join(" ").trim();
  const operation = step.operation === undefined ? "" : `${step.operation.toLowerCase()}${step.subResource === "status" ? " of the status" : ""} `;
  // A stored object is not denied, so the message of a finding is not a warning.
  const text = verdict === undefined ? step.message : verdict.message ?? verdict.warnings[0] ?? verdict.findings[0]?.message ?? verdict.unchecked[0]?.message;
  const texts = rejection === undefined ? [text ?? ""] : [`The API server answered ${rejection.code}: ${rejection.message || "no message"}`, evaluationOfRejected(step)];
  return h(
    "li",
    {},
    h("span", { class: `badge ${kind}` }, outcome),
    h("span", { class: "position" }, `line ${step.line}${step.time === undefined ? "" : `, ${step.time}`}`),
    h("span", { class: "operation" }, operation, h("strong", {}, name)),
    verdict !== undefined && h("button", { type: "button", class: "location", onclick: open }, `Open line ${step.line} in the editors`),
    ...texts.map((text) => h("p", { class: "message" }, text)),
  );
}

/** Describes the evaluation of the object that a client sent in a rejected write. */
function evaluationOfRejected({ verdict, message }: ReplayStep): string {
  if (verdict === undefined) {
    return `Not evaluated: ${message ?? ""}`;
  }
  if (!verdict.allowed) {
    return `The policy denies it too: ${verdict.message ?? ""}`;
  }
  const notes = [...verdict.warnings, ...verdict.unchecked.map(({ message }) => message)];
  return `The policy allows it${notes.length === 0 ? "" : `, with warnings: ${notes.join("; ")}`}.`;
}

/** Formats a number with its noun: `1 line`, `2 lines`. */
function count(value: number, noun: string): string {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
}

/** Formats a size. */
function size(bytes: number): string {
  return bytes < 1e5 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

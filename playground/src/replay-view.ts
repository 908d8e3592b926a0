// A history that was dropped on the page: how far it is, a timeline, and what was found.
import { explain, type ReplayStep, type ReplayTally } from "managed-by/web";
import { byId, h, prose, svg } from "./dom.js";
import type { Job, News } from "./replay-worker.js";

/** The width of the timeline in bars. */
const BARS = 120;
/** So many steps are listed. */
const LISTED = 200;

interface Bar {
  denied: number;
  warned: number;
  unjudged: number;
}

/** Replays files. One at a time: a new one ends the one before. */
export class ReplayView {
  readonly #panel = byId("replay");
  readonly #progress = byId<HTMLProgressElement>("replay-progress");
  readonly #status = byId("replay-status");
  readonly #timeline = byId("replay-timeline");
  readonly #result = byId("replay-result");
  #worker: Worker | undefined;
  #steps: { step: ReplayStep; at: number }[] = [];

  constructor() {
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

  start(file: File, settings: string): void {
    this.#worker?.terminate();
    this.#steps = [];
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
    worker.addEventListener("message", ({ data }: MessageEvent<News>) => {
      if (data.kind === "progress") {
        const share = file.size === 0 ? 1 : data.bytes / file.size;
        this.#steps.push(...data.steps.map((step) => ({ step, at: share })));
        this.#progress.value = share;
        this.#status.textContent = `${megabytes(data.bytes)} of ${megabytes(file.size)} MB, ${this.#steps.length} to tell of`;
        this.#draw();
      } else {
        this.#progress.hidden = true;
        worker.terminate();
        if (data.kind === "failed") {
          this.#status.textContent = data.message;
        } else {
          const seconds = (performance.now() - began) / 1000;
          this.#status.textContent = `${megabytes(file.size)} MB in ${seconds.toFixed(1)} seconds`;
          this.#show(data.tally);
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

  /** The timeline: how much was denied and warned of, over the length of the file. */
  #draw(lines?: number): void {
    const bars: Bar[] = Array.from({ length: BARS }, () => ({ denied: 0, warned: 0, unjudged: 0 }));
    for (const { step, at } of this.#steps) {
      const share = lines === undefined ? at : (step.line - 1) / Math.max(lines, 1);
      const bar = bars[Math.min(Math.floor(share * BARS), BARS - 1)];
      if (bar !== undefined) {
        bar[step.verdict === undefined ? "unjudged" : step.verdict.allowed ? "warned" : "denied"] += 1;
      }
    }
    const highest = Math.max(1, ...bars.map((bar) => bar.denied + bar.warned + bar.unjudged));
    const picture = svg("svg", { viewBox: `0 0 ${BARS * 6} 64`, preserveAspectRatio: "none", role: "img", "aria-label": "Where in the history something was denied, warned of, or could not be judged" });
    bars.forEach((bar, index) => {
      let y = 62;
      for (const kind of ["denied", "warned", "unjudged"] as const) {
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

  #show(tally: ReplayTally): void {
    const { counts, rows, unknown } = tally;
    this.#draw(counts.lines);
    const number = (count: number, word: string, kind = ""): HTMLElement => h("div", { class: kind }, h("dd", {}, count.toLocaleString("en")), h("dt", {}, word));
    const sums = h(
      "dl",
      { class: "sums" },
      number(counts.judged, "judged"),
      number(counts.denied, "denied", "denied"),
      number(counts.warned, "warned", "warned"),
      number(counts.unjudged, "not judged"),
      number(counts.live, "objects live"),
    );
    const parts: HTMLElement[] = [sums];
    if (rows.length > 0) {
      parts.push(table(tally));
    }
    if (unknown.length > 0) {
      parts.push(h("p", { class: "note" }, `Kinds that the policy does not know: ${unknown.join(", ")}.`));
    }
    if (this.#steps.length > 0) {
      // Denials first: they may come behind thousands of warnings.
      const isDenial = ({ step }: { step: ReplayStep }): boolean => step.verdict?.allowed === false;
      const ordered = [...this.#steps.filter(isDenial), ...this.#steps.filter((told) => !isDenial(told))];
      const shown = ordered.slice(0, LISTED).map(({ step }) => item(step));
      const rest = this.#steps.length - shown.length;
      parts.push(h("h3", {}, "One by one"), h("ol", { class: "steps" }, ...shown));
      if (rest > 0) {
        parts.push(h("p", { class: "note" }, `${rest.toLocaleString("en")} more are counted above.`));
      }
    } else {
      parts.push(h("p", { class: "note" }, "No rule has anything to say about this history."));
    }
    this.#result.replaceChildren(...parts);
  }
}

function table(tally: ReplayTally): HTMLElement {
  const head = h("tr", {}, ...["Rule", "Kind", "Times", "Releases", "Lines", "First object"].map((text) => h("th", { scope: "col" }, text)));
  const rows = tally.rows.map((row) => {
    const { object } = row;
    return h(
      "tr",
      {},
      h("th", { scope: "row", title: explain(row.rule).title }, h("span", { class: `badge ${row.enforcement}` }, row.enforcement === "deny" ? "denies" : "warns"), " ", h("code", {}, row.rule)),
      h("td", {}, row.kind),
      h("td", { class: "number" }, row.count.toLocaleString("en")),
      h("td", {}, row.releases?.join(", ") ?? "all"),
      h("td", { class: "number" }, row.firstLine === row.lastLine ? String(row.firstLine) : `${row.firstLine} to ${row.lastLine}`),
      h("td", {}, [object.namespace, object.name].filter((part) => part !== "").join("/"), row.username === undefined ? "" : ` by ${row.username}`),
    );
  });
  const caption = h("caption", {}, prose("What each rule found, with the settings on the page. Where those name no release, `all` deny or the ones that are named."));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What each rule found" }, h("table", {}, caption, h("thead", {}, head), h("tbody", {}, ...rows)));
}

function item(step: ReplayStep): HTMLElement {
  const { object, verdict } = step;
  const word = verdict === undefined ? "not judged" : verdict.allowed ? "warned" : "denied";
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
    h("p", { class: "message" }, text),
  );
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

// The result panel: objects, verdict, kubectl output, findings with their rules and releases.
import { explain, releaseRange, releases as allReleases, type Unchecked, type Verdict } from "managed-by/web";
import { type Entry, type Finding, type InputEvaluation, MAX_LISTED, type Outcome } from "./evaluation.js";
import { h, inlineMarkdown } from "./dom.js";
import { type Answer, answerOf } from "./answer.js";
import { evaluatedParts, transcript } from "./kubectl.js";
import { type EvaluatedObject, outcomeOf, verdictOf } from "./verdict.js";

export interface Actions {
  /** Shows the position of a finding in the editor. */
  goTo(from: number): void;
  /** Shows the position of a problem in one of the editors. */
  goToProblem(index: number): void;
  /** Selects a release. */
  selectRelease(release: string): void;
  /** Selects another object of the input. */
  selectEntry(entry: Entry): void;
}

/** The documentation, which is published together with this page. */
const SITE = "https://managed-by-policy.github.io/managed-by-policy";

const CODES: Record<number, string> = { 400: "Bad Request", 403: "Forbidden", 422: "Invalid" };

/** Fills the result panel. Returns the text for screen readers. */
export function showEvaluation(parent: HTMLElement, evaluation: InputEvaluation, release: string, actions: Actions): string {
  const { verdict: evaluated, current } = evaluation;
  if (evaluated === undefined || current === undefined) {
    return showNoVerdict(parent, evaluation, actions);
  }
  const { verdict } = evaluated;
  const outcome = outcomeOf(verdict);
  const answer = answerOf(evaluated.request, verdict, evaluated.stored === true, release);
  const overall = overallOutcome(evaluation);
  const isIncomplete = verdict.unchecked.length > 0 || evaluation.problems.length > 0;
  fillPanel(
    parent,
    ...entryList(evaluation, actions),
    headline(outcome, evaluated, { release, answer, isIncomplete, isOne: overall === undefined }),
    ...releases(evaluated, release, actions),
    terminal(evaluated, answer),
    ...(evaluated.note === undefined ? [] : [h("p", { class: "subject" }, `Note: ${evaluated.note}.`)]),
    ...problems(evaluation, actions),
    ...notEvaluated(verdict.unchecked),
    findings(current.findings, actions),
    ...audit(verdict),
  );
  const count = current.findings.length;
  const text = `${outcome === "Warned" ? "Allowed with a warning" : outcome}${isIncomplete ? ", not completely evaluated" : ""}`;
  return `${overall === undefined ? text : `${overall}: ${summaryOf(evaluation)} This object: ${text.toLowerCase()}`}. ${count === 0 ? "No findings." : count === 1 ? "One finding." : `${count} findings.`}`;
}

function showNoVerdict(parent: HTMLElement, evaluation: InputEvaluation, actions: Actions): string {
  const { current } = evaluation;
  const [outcome, text] =
    current?.outcome === "Not evaluated"
      ? [current.outcome, current.message]
      : evaluation.problems.length > 0
        ? ["Invalid input", "The input cannot be evaluated:"]
        : evaluation.unsupported.length > 0
          ? ["Not evaluated", unsupportedText(evaluation)]
          : ["No object", "Write an object on the left, or choose an example above."];
  fillPanel(
    parent,
    ...entryList(evaluation, actions),
    h("div", { class: "headline none" }, h("p", { class: "outcome" }, outcome), h("p", { class: "subject" }, text)),
    ...problems(evaluation, actions),
  );
  const overall = overallOutcome(evaluation);
  return `${overall === undefined ? outcome : `${overall}: ${summaryOf(evaluation)} This object: ${outcome.toLowerCase()}`}. ${text}`;
}

/** Shows that the policy cannot evaluate anything, and why. */
export function showFailure(parent: HTMLElement, outcome: string, message: string, retry: () => void): string {
  const button = h("button", { type: "button", class: "retry", onclick: retry }, "Try again");
  fillPanel(parent, h("div", { class: "headline denied" }, h("p", { class: "outcome" }, outcome), h("p", { class: "subject" }, message)), button);
  return `${outcome}: ${message}`;
}

/** Replaces the content of the panel. A button with an id keeps the focus. */
function fillPanel(parent: HTMLElement, ...children: HTMLElement[]): void {
  const focused = parent.contains(document.activeElement) ? document.activeElement?.id : undefined;
  parent.replaceChildren(...children);
  if (focused !== undefined && focused !== "") {
    document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function totalOf({ counts }: InputEvaluation): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Returns the outcome of all objects, if there are several: the worst one. */
function overallOutcome(evaluation: InputEvaluation): string | undefined {
  const { counts, entries, problems } = evaluation;
  if (totalOf(evaluation) < 2) {
    return undefined;
  }
  const has = (outcome: Outcome): boolean => (counts[outcome] ?? 0) > 0;
  if (has("Denied")) {
    return "Denied";
  }
  const isIncomplete = has("Not evaluated") || has("Invalid input") || problems.length > 0 || entries.some((entry) => entry.isIncomplete);
  return isIncomplete ? "Not completely evaluated" : has("Warned") ? "Allowed with warnings" : "Allowed";
}

/** Summarizes the outcomes of several objects: `3 objects: 1 denied, 2 allowed.` */
function summaryOf(evaluation: InputEvaluation): string {
  const texts = (["Denied", "Warned", "Allowed", "Not evaluated", "Invalid input"] as const).flatMap((outcome) => {
    const count = evaluation.counts[outcome] ?? 0;
    return count === 0 ? [] : [`${count.toLocaleString("en")} ${outcome.toLowerCase()}`];
  });
  return `${totalOf(evaluation).toLocaleString("en")} objects: ${texts.join(", ")}.`;
}

function unsupportedText({ unsupported }: InputEvaluation): string {
  return `The policy does not support ${[...new Set(unsupported)].join(", ")}: it allows such objects, with a warning.`;
}

const OVERALL_CLASSES: Record<string, string> = { Denied: "denied", Allowed: "allowed", "Allowed with warnings": "warned" };

/** Shows the outcome of all objects in the input, and lists them, if there are several. Long lists omit the `Allowed` ones, except the current one. */
function entryList(evaluation: InputEvaluation, actions: Actions): HTMLElement[] {
  const { entries, current } = evaluation;
  const overall = overallOutcome(evaluation);
  if (overall === undefined) {
    return [];
  }
  const items = entries.map((entry) => {
    const name = [entry.isStatus ? "status of" : "", entry.kind, entry.name].filter((part) => part !== "").join(" ");
    const id = `entry-${entry.position.from}-${entry.isStatus}`;
    const button = h(
      "button",
      { type: "button", id, "aria-pressed": String(entry === current), title: entry.message, onclick: () => actions.selectEntry(entry) },
      h("span", { class: `badge ${entry.outcome.toLowerCase().replaceAll(" ", "-")}` }, entry.outcome),
      ` ${name} `,
      h("span", { class: "line" }, `line ${entry.position.line}`),
    );
    return h("li", {}, button);
  });
  const unsupported = evaluation.unsupported.length === 0 ? "" : ` ${unsupportedText(evaluation)}`;
  const limit = totalOf(evaluation) > MAX_LISTED ? ` The list shows at most ${MAX_LISTED} objects, and omits allowed ones.` : "";
  const head = h("div", { class: `headline overall ${OVERALL_CLASSES[overall] ?? "none"}` }, h("p", { class: "outcome" }, overall), h("p", { class: "subject" }, `${summaryOf(evaluation)}${unsupported}${limit}`));
  return [head, h("nav", { class: "entries", "aria-label": "Objects in the input" }, h("ol", {}, ...items))];
}

interface HeadlineOptions {
  release: string;
  answer: Answer;
  /** True if a part of the input was not evaluated. */
  isIncomplete: boolean;
  /** True if the input has no other object. */
  isOne: boolean;
}

function headline(outcome: string, evaluated: EvaluatedObject, { release, answer, isIncomplete, isOne }: HeadlineOptions): HTMLElement {
  const { kind, operation, subResource, name, namespace } = { namespace: "", name: "", ...evaluated.request };
  const what = subResource === "status" ? "Status update" : operation === "CREATE" ? "Create" : "Update";
  const { code, auditAnnotations, warnings } = evaluated.verdict;
  const warned = outcome === "Warned" ? `with ${warnings.length === 1 ? "a warning" : `${warnings.length} warnings`}` : undefined;
  const status = code !== undefined ? `${code} ${CODES[code] ?? ""}` : warned;
  const beside = [status, isIncomplete ? "not completely evaluated" : undefined].filter((part) => part !== undefined).join(", ");
  const word = outcome === "Denied" ? "Denied" : "Allowed";
  const controller = auditAnnotations["controller"];
  const run = controller === undefined ? "" : ` Delegated to ${controller}.`;
  const evaluatedAs = evaluated.byRelease !== undefined && allReleases().includes(release) ? `for Kubernetes ${release}` : "by the policy with these settings";
  return h(
    "div",
    { class: `headline ${outcome.toLowerCase()}` },
    h("p", { class: "outcome" }, isOne ? word : `This object: ${word.toLowerCase()}`, beside !== "" && h("span", { class: "code" }, beside)),
    h("p", { class: "subject" }, `${what} of ${kind.kind} `, h("strong", {}, [namespace, name].filter((part) => part !== "").join("/")), `, evaluated ${evaluatedAs}.${run}`),
    answer.note !== undefined && h("p", { class: "scope" }, answer.note),
    h("p", { class: "scope" }, `Validated: ${evaluatedParts(evaluated.request, evaluated.stored)}. Nothing else is, so an API server may still reject the object because of another field.`),
  );
}

function terminal(evaluated: EvaluatedObject, answer: Answer): HTMLElement {
  const lines = transcript(evaluated.request, evaluated.verdict, answer, evaluated.stored);
  const pre = h("pre", { tabindex: 0, role: "region", "aria-label": "What kubectl prints" });
  for (const { kind, text } of lines) {
    pre.append(h("span", { class: `line ${kind}` }, text), "\n");
  }
  return h("div", { class: "terminal" }, pre);
}

function section(title: string, ...children: (Node | string)[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...children);
}

const EDITORS = { object: "object", oldObject: "old object", settings: "settings" };

function problems(evaluation: InputEvaluation, actions: Actions): HTMLElement[] {
  if (evaluation.problems.length === 0) {
    return [];
  }
  const items = evaluation.problems.map(({ editor, position, message }, index) => {
    const go = h("button", { type: "button", class: "location", onclick: () => actions.goToProblem(index) }, `${EDITORS[editor]}, line ${position.line}`);
    return h("li", {}, h("p", { class: "message" }, message), go);
  });
  return [h("ul", { class: "problems" }, ...items)];
}

/** Lists the parts of a request that were not evaluated. */
function notEvaluated(unchecked: Unchecked[]): HTMLElement[] {
  if (unchecked.length === 0) {
    return [];
  }
  const items = unchecked.map(({ message }) => h("li", {}, h("p", { class: "message" }, message)));
  return [section("Not evaluated", h("ul", { class: "problems" }, ...items))];
}

function findings(found: Finding[], actions: Actions): HTMLElement {
  if (found.length === 0) {
    return section("Findings", h("p", { class: "none" }, "No findings."));
  }
  return section(found.length === 1 ? "Finding" : `${found.length} findings`, ...found.map((finding) => findingCard(finding, actions)));
}

function findingCard(finding: Finding, actions: Actions): HTMLElement {
  const rule = explain(finding.rule);
  const verb = finding.enforcement === "deny" ? "denies" : "warns";
  const { position } = finding;
  const location =
    position !== undefined &&
    h("button", { type: "button", class: "location", onclick: () => actions.goTo(position.from) }, h("code", {}, finding.path), ` line ${position.line}`);
  return h(
    "article",
    { class: `finding ${finding.enforcement}` },
    h("header", {}, h("span", { class: `badge ${finding.enforcement}` }, verb), h("h4", {}, finding.rule), location),
    h("p", { class: "message" }, messageOf(finding)),
    h("p", { class: "rule" }, inlineMarkdown(`${rule.title}. ${rule.fix}`)),
    h("p", { class: "source" }, inlineMarkdown(rule.source), " · ", h("a", { href: `${SITE}/rules/${rule.id}.html`, rel: "external" }, "About the rule, with examples")),
  );
}

/** Returns the message without the path, which is shown separately, and with the releases that deny it if not all do. */
function messageOf(finding: Finding): string {
  const text = finding.message.startsWith(`${finding.path}: `) ? finding.message.slice(finding.path.length + 2) : finding.message;
  const { releaseRange } = finding;
  return releaseRange === undefined ? text : `${text} (kube-apiserver ${releaseRange} denies it)`;
}

function releases(evaluated: EvaluatedObject, selected: string, actions: Actions): HTMLElement[] {
  if (evaluated.byRelease === undefined) {
    return [];
  }
  const cells = allReleases().map((release) => {
    const verdict = verdictOf(evaluated, release);
    const outcome = outcomeOf(verdict);
    const text = { Allowed: "passes", Warned: "warns", Denied: "denies" }[outcome];
    const title = verdict.message ?? verdict.warnings.join("\n");
    const label = [h("span", { class: "release" }, releaseRange(release)), " ", h("span", { class: "verdict" }, text)];
    const button = h("button", { type: "button", id: `release-${release}`, "aria-pressed": String(release === selected), title, onclick: () => actions.selectRelease(release) }, ...label);
    return h("li", { class: outcome.toLowerCase() }, button);
  });
  return [section("Result for each release", h("ol", { class: "releases" }, ...cells))];
}

function audit(verdict: Verdict): HTMLElement[] {
  const entries = Object.entries(verdict.auditAnnotations);
  if (entries.length === 0) {
    return [];
  }
  const rows = entries.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]);
  return [section("In the audit log", h("dl", { class: "audit" }, ...rows))];
}

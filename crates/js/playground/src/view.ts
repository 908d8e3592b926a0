// The result panel: objects, verdict, kubectl output, findings with their rules, releases and state diagram.
import { explain, type Finding, type ObjectVerdict, releases as allReleases, type Verdict } from "managed-by/web";
import { type Entry, type Evaluation, MAX_LISTED } from "./evaluation.js";
import { h, inlineMarkdown, markdown } from "./dom.js";
import { evaluatedParts, transcript } from "./kubectl.js";
import { stateDiagram } from "./state-diagram.js";
import { outcomeOf } from "./verdict.js";

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

const REPOSITORY = "https://github.com/managed-by-policy/managed-by-policy";

const CODES: Record<number, string> = { 400: "Bad Request", 403: "Forbidden", 422: "Invalid" };

/** Fills the result panel. Returns the text for screen readers. */
export function showEvaluation(parent: HTMLElement, evaluation: Evaluation, release: string, actions: Actions): string {
  const { verdict: evaluated, transitions } = evaluation;
  if (evaluated === undefined) {
    return showNoVerdict(parent, evaluation, actions);
  }
  const { verdict } = evaluated;
  const outcome = outcomeOf(verdict);
  fillPanel(
    parent,
    ...entryList(evaluation, actions),
    headline(outcome, evaluated, release),
    ...releases(evaluated, release, actions),
    terminal(evaluated),
    ...(evaluated.note === undefined ? [] : [h("p", { class: "subject" }, `Note: ${evaluated.note}.`)]),
    ...problems(evaluation, actions),
    findings(verdict.findings, actions),
    ...(transitions === undefined ? [] : [section("State transition", stateDiagram(transitions))]),
    ...audit(verdict),
  );
  const count = verdict.findings.length;
  return `${outcome === "Warned" ? "Allowed with a warning" : outcome}. ${count === 0 ? "No findings." : count === 1 ? "One finding." : `${count} findings.`}`;
}

function showNoVerdict(parent: HTMLElement, evaluation: Evaluation, actions: Actions): string {
  const { current } = evaluation;
  const [outcome, text] =
    current?.outcome === "Not evaluated"
      ? [current.outcome, current.message]
      : evaluation.problems.length > 0
        ? ["Invalid input", "The input cannot be evaluated:"]
        : ["No object", "Write an object on the left, or choose an example above."];
  fillPanel(
    parent,
    ...entryList(evaluation, actions),
    h("div", { class: "headline none" }, h("p", { class: "outcome" }, outcome), h("p", { class: "subject" }, text)),
    ...problems(evaluation, actions),
  );
  return `${outcome}. ${text}`;
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

/** Lists the objects of the input, if there are several. Long lists omit the `Allowed` ones, except the current one. */
function entryList({ entries, counts, current }: Evaluation, actions: Actions): HTMLElement[] {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (total < 2) {
    return [];
  }
  const items = entries.map((entry) => {
    const name = [entry.isStatus ? "status of" : "", entry.kind, entry.name].filter((part) => part !== "").join(" ");
    const id = `entry-${entry.from}-${entry.ordinal}`;
    const button = h(
      "button",
      { type: "button", id, "aria-pressed": String(entry === current), title: entry.message, onclick: () => actions.selectEntry(entry) },
      h("span", { class: `badge ${entry.outcome.toLowerCase().replaceAll(" ", "-")}` }, entry.outcome),
      ` ${name} `,
      h("span", { class: "line" }, `line ${entry.line}`),
    );
    return h("li", {}, button);
  });
  const texts = (["Denied", "Warned", "Allowed", "Not evaluated", "Invalid input"] as const).flatMap((outcome) => {
    const count = counts[outcome] ?? 0;
    return count === 0 ? [] : [`${count.toLocaleString("en")} ${outcome.toLowerCase()}`];
  });
  const limit = total > MAX_LISTED ? ` The list shows at most ${MAX_LISTED} objects, and omits allowed ones.` : "";
  const summary = `${total.toLocaleString("en")} objects: ${texts.join(", ")}.${limit}`;
  return [h("nav", { class: "entries", "aria-label": "Objects in the input" }, h("p", {}, summary), h("ol", {}, ...items))];
}

function headline(outcome: string, evaluated: ObjectVerdict, release: string): HTMLElement {
  const { kind, operation, subResource, name, namespace } = { namespace: "", name: "", ...evaluated.request };
  const what = subResource === "status" ? "Status update" : operation === "CREATE" ? "Create" : "Update";
  const { code, auditAnnotations, warnings } = evaluated.verdict;
  const beside = code !== undefined ? `${code} ${CODES[code] ?? ""}` : outcome === "Warned" ? `with ${warnings.length === 1 ? "a warning" : `${warnings.length} warnings`}` : undefined;
  const controller = auditAnnotations["controller"];
  const run = controller === undefined ? "" : ` Delegated to ${controller}.`;
  const evaluatedAs = evaluated.releases?.some((entry) => entry.release === release) === true ? `for Kubernetes ${release}` : "by the policy with these settings";
  return h(
    "div",
    { class: `headline ${outcome.toLowerCase()}` },
    h("p", { class: "outcome" }, outcome === "Denied" ? outcome : "Allowed", beside !== undefined && h("span", { class: "code" }, beside)),
    h("p", { class: "subject" }, `${what} of ${kind.kind} `, h("strong", {}, [namespace, name].filter((part) => part !== "").join("/")), `, evaluated ${evaluatedAs}.${run}`),
    h("p", { class: "scope" }, `Validated: ${evaluatedParts(evaluated.request, evaluated.stored)}. Nothing else is, so an API server may still reject the object because of another field.`),
  );
}

function terminal(evaluated: ObjectVerdict): HTMLElement {
  const lines = transcript(evaluated.request, evaluated.verdict, evaluated.stored);
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

function problems(evaluation: Evaluation, actions: Actions): HTMLElement[] {
  if (evaluation.problems.length === 0) {
    return [];
  }
  const items = evaluation.problems.map(({ editor, position, message }, index) => {
    const go = h("button", { type: "button", class: "location", onclick: () => actions.goToProblem(index) }, `${EDITORS[editor]}, line ${position.line}`);
    return h("li", {}, h("p", { class: "message" }, message), go);
  });
  return [h("ul", { class: "problems" }, ...items)];
}

function findings(found: Finding[], actions: Actions): HTMLElement {
  if (found.length === 0) {
    return section("Findings", h("p", { class: "none" }, "No findings."));
  }
  return section(found.length === 1 ? "Finding" : `${found.length} findings`, ...found.map((finding, index) => findingCard(finding, index === 0, actions)));
}

function findingCard(finding: Finding, isOpen: boolean, actions: Actions): HTMLElement {
  const rule = explain(finding.rule);
  const verb = finding.enforcement === "deny" ? "denies" : "warns";
  const { position } = finding;
  const location =
    position !== undefined &&
    h("button", { type: "button", class: "location", onclick: () => actions.goTo(position.from) }, h("code", {}, finding.path), ` line ${position.line}`);
  const page = `${REPOSITORY}/blob/main/docs/rules/${rule.id}.md`;
  const source = rule.upstream ? `${rule.source}, ${releaseRange(rule.releases)}` : `This project: ${rule.source}`;
  return h(
    "article",
    { class: `finding ${finding.enforcement}` },
    h("header", {}, h("span", { class: `badge ${finding.enforcement}` }, verb), h("h4", {}, finding.rule), location),
    h("p", { class: "message" }, messageOf(finding)),
    h(
      "details",
      { open: isOpen },
      h("summary", {}, "The rule"),
      h("p", { class: "title" }, inlineMarkdown(`${rule.title}.`, page)),
      ...markdown(rule.text, page),
      h("h5", {}, "What to do"),
      ...markdown(rule.fix, page),
      h(
        "p",
        { class: "source" },
        inlineMarkdown(source, page),
        " · ",
        h("a", { href: page, rel: "external" }, "The page of the rule, with examples"),
      ),
    ),
  );
}

/** Returns the message without the path, which is shown separately, and with the releases that deny it if not all do. */
function messageOf(finding: Finding): string {
  const text = finding.message.startsWith(`${finding.path}: `) ? finding.message.slice(finding.path.length + 2) : finding.message;
  const { releases } = finding;
  return releases === undefined ? text : `${text} (kube-apiserver ${releaseRange(releases)} denies it)`;
}

/** Formats releases as ranges: `1.30 to 1.31, 1.32.0 to 1.32.6, 1.33 from 1.33.6, 1.34.2 to 1.37`. */
export function releaseRange(releases: string[]): string {
  const all = allReleases();
  const runs: [string, string][] = [];
  all.forEach((release, index) => {
    const run = runs.at(-1);
    if (releases.includes(release) && run !== undefined && run[1] === all[index - 1]) {
      run[1] = release;
    } else if (releases.includes(release)) {
      runs.push([release, release]);
    }
  });
  return runs.map(([first, last]) => formatRun(first, last)).join(", ");
}

/** Formats consecutive releases. A release such as `1.33.5` is the patch releases after the release before it, up to 1.33.5. */
function formatRun(first: string, last: string): string {
  const minor = minorOf(first);
  const before = allReleases()[allReleases().indexOf(first) - 1] ?? "";
  const patch = minorOf(before) === minor ? Number(before.split(".")[2]) + 1 : 0;
  const from = `${minor}.${patch}`;
  if (last === minor) {
    return patch === 0 ? minor : `${minor} from ${from}`;
  }
  const start = patch === 0 && minorOf(last) !== minor ? minor : from;
  return start === last ? last : `${start} to ${last}`;
}

function minorOf(release: string): string {
  return release.split(".", 2).join(".");
}

function releases(evaluated: ObjectVerdict, selected: string, actions: Actions): HTMLElement[] {
  if (evaluated.releases === undefined) {
    return [];
  }
  const cells = evaluated.releases.map(({ release, verdict }) => {
    const outcome = outcomeOf(verdict);
    const text = { Allowed: "passes", Warned: "warns", Denied: "denies" }[outcome];
    const title = verdict.message ?? verdict.warnings.join("\n");
    const label = [h("span", { class: "release" }, releaseRange([release])), " ", h("span", { class: "verdict" }, text)];
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

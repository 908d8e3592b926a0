// The result panel: verdict, kubectl output, findings with their rules, releases and state diagram.
import { explain, type Finding, type ObjectVerdict, type Settings, type Verdict } from "managed-by/web";
import { type Result, verdictOf } from "./result.js";
import { h, prose } from "./dom.js";
import { evaluatedParts, transcript } from "./kubectl.js";
import { machine } from "./machine.js";

export interface Actions {
  /** Shows the position of a finding in the editor. */
  goTo(from: number): void;
  /** Shows the position of a problem in one of the editors. */
  goToProblem(index: number): void;
  /** Selects a release. */
  choose(release: string): void;
}

const REPOSITORY = "https://github.com/managed-by-policy/managed-by-policy";

const CODES: Record<number, string> = { 400: "Bad Request", 403: "Forbidden", 422: "Invalid" };

/** Returns the label of a verdict. */
export type Word = "Allowed" | "Warned" | "Denied";

export function wordOf(verdict: Verdict): Word {
  return verdict.allowed ? (verdict.warnings.length > 0 ? "Warned" : "Allowed") : "Denied";
}

/** Fills the result panel. Returns the text for screen readers. */
export function show(parent: HTMLElement, result: Result, settings: Settings | string, release: string, actions: Actions): string {
  const [first, ...others] = result.evaluated;
  if (first === undefined) {
    return showNoVerdict(parent, result, actions);
  }
  const about = (evaluated: ObjectVerdict): ObjectVerdict => ({ ...evaluated, verdict: verdictOf(evaluated, release) });
  const evaluated = about(first);
  const more = others.map(about);
  const word = wordOf(evaluated.verdict);
  parent.replaceChildren(
    headline(word, evaluated, more.length, release),
    ...releases(evaluated, release, actions),
    terminal(evaluated),
    ...(evaluated.remark === undefined ? [] : [h("p", { class: "subject" }, `Note: ${evaluated.remark}.`)]),
    ...problems(result, actions),
    findings(evaluated.verdict.findings, actions),
    ...optional(machine(evaluated.request, evaluated.verdict.allowed, settings, release), "The step"),
    ...rest(more),
    audit(evaluated.verdict),
  );
  const count = evaluated.verdict.findings.length;
  return `${word === "Warned" ? "Allowed with a warning" : word}. ${count === 0 ? "No findings." : count === 1 ? "One finding." : `${count} findings.`}`;
}

function showNoVerdict(parent: HTMLElement, result: Result, actions: Actions): string {
  const [unknown] = result.unknown;
  const isBroken = result.problems.length > 0;
  const [word, text] = isBroken
    ? ["Invalid input", "The input cannot be evaluated:"]
    : unknown !== undefined
      ? ["Not evaluated", `The policy does not support ${unknown}: it allows the object, with a warning.`]
      : result.rejection !== undefined
        ? ["Not evaluated", result.rejection]
        : ["No object", "Write an object on the left, or choose an example above."];
  parent.replaceChildren(
    h("div", { class: "headline none" }, h("p", { class: "word" }, word), h("p", { class: "subject" }, text)),
    ...problems(result, actions),
  );
  return `${word}. ${text}`;
}

function headline(word: Word, evaluated: ObjectVerdict, more: number, release: string): HTMLElement {
  const { kind, operation, subResource, name, namespace } = { namespace: "", name: "", ...evaluated.request };
  const what = subResource === "status" ? "Status update" : operation === "CREATE" ? "Create" : "Update";
  const { code, auditAnnotations, warnings } = evaluated.verdict;
  const beside = code !== undefined ? `${code} ${CODES[code] ?? ""}` : word === "Warned" ? `with ${warnings.length === 1 ? "a warning" : `${warnings.length} warnings`}` : undefined;
  const controller = auditAnnotations["controller"];
  const run = controller === undefined ? "" : ` Delegated to ${controller}.`;
  const also = more === 0 ? "" : ` The input contains ${more} more.`;
  const by = evaluated.releases?.some((of) => of.release === release) === true ? `Kubernetes ${release}` : "the policy with these settings";
  return h(
    "div",
    { class: `headline ${word.toLowerCase()}` },
    h("p", { class: "word" }, word === "Denied" ? word : "Allowed", beside !== undefined && h("span", { class: "code" }, beside)),
    h("p", { class: "subject" }, `${what} of ${kind.kind} `, h("strong", {}, [namespace, name].filter((part) => part !== "").join("/")), `, by ${by}.${run}${also}`),
    h("p", { class: "scope" }, `Validated: ${evaluatedParts(evaluated.request, isStored(evaluated))}. Nothing else is, so an API server may still reject the object because of another field.`),
  );
}

/** Returns true if the object is reviewed as a stored one, with its status. */
function isStored(evaluated: ObjectVerdict): boolean {
  return evaluated.remark?.includes("stored") === true;
}

function terminal(evaluated: ObjectVerdict): HTMLElement {
  const lines = transcript(evaluated.request, evaluated.verdict, isStored(evaluated));
  const pre = h("pre", { tabindex: 0, role: "region", "aria-label": "What kubectl prints" });
  for (const { kind, text } of lines) {
    pre.append(h("span", { class: `line ${kind}` }, text), "\n");
  }
  return h("div", { class: "terminal" }, pre);
}

function section(title: string, ...children: (Node | string)[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...children);
}

function optional(node: HTMLElement | undefined, title: string): HTMLElement[] {
  return node === undefined ? [] : [section(title, node)];
}

const PARTS = { object: "object", oldObject: "old object", settings: "settings" };

function problems(result: Result, actions: Actions): HTMLElement[] {
  if (result.problems.length === 0) {
    return [];
  }
  const items = result.problems.map(({ part, position, message }, index) => {
    const go = h("button", { type: "button", class: "place", onclick: () => actions.goToProblem(index) }, `${PARTS[part]}, line ${position.line}`);
    return h("li", {}, h("p", { class: "message" }, message), go);
  });
  return [h("ul", { class: "problems" }, ...items)];
}

function findings(found: Finding[], actions: Actions): HTMLElement {
  if (found.length === 0) {
    return section("Findings", h("p", { class: "none" }, "No findings."));
  }
  return section(found.length === 1 ? "Finding" : `${found.length} findings`, ...found.map((finding, index) => card(finding, index === 0, actions)));
}

function card(finding: Finding, isOpen: boolean, actions: Actions): HTMLElement {
  const rule = explain(finding.rule);
  const word = finding.enforcement === "deny" ? "denies" : "warns";
  const { position } = finding;
  const where =
    position !== undefined &&
    h("button", { type: "button", class: "place", onclick: () => actions.goTo(position.from) }, h("code", {}, finding.path), ` line ${position.line}`);
  const source = rule.upstream ? `${rule.source}, ${span(rule.releases)}` : `This project: ${rule.source}`;
  return h(
    "article",
    { class: `finding ${finding.enforcement}` },
    h("header", {}, h("span", { class: `badge ${finding.enforcement}` }, word), h("h4", {}, finding.rule), where),
    h("p", { class: "message" }, messageOf(finding)),
    h(
      "details",
      { open: isOpen },
      h("summary", {}, "The rule"),
      h("p", { class: "title" }, prose(`${rule.title}.`)),
      h("p", {}, prose(rule.text)),
      h("h5", {}, "What to do"),
      h("p", {}, prose(rule.fix)),
      h(
        "p",
        { class: "source" },
        prose(source),
        " · ",
        h("a", { href: `${REPOSITORY}/blob/main/docs/rules/${rule.id}.md`, rel: "external" }, "Its page, with examples"),
      ),
    ),
  );
}

/** Returns the message without the path, which is shown separately. */
function messageOf(finding: Finding): string {
  const text = finding.message.startsWith(`${finding.path}: `) ? finding.message.slice(finding.path.length + 2) : finding.message;
  const { releases } = finding;
  return releases === undefined ? text : `${text} (kube-apiserver ${span(releases)} denies it)`;
}

/** Formats consecutive releases as a range: `1.30 to 1.37`. */
function span(releases: string[]): string {
  const [first, last] = [releases[0] ?? "", releases.at(-1) ?? ""];
  const isRun = releases.every((release, index) => minor(release) === minor(first) + index);
  return first === last ? first : isRun ? `${first} to ${last}` : releases.join(", ");
}

function minor(release: string): number {
  return Number(release.split(".")[1]);
}

/** Option for no release: the settings are used unchanged. */
export const SETTINGS = "settings";

function releases(evaluated: ObjectVerdict, chosen: string, actions: Actions): HTMLElement[] {
  if (evaluated.releases === undefined) {
    return [];
  }
  const cells = evaluated.releases.map(({ release, verdict }) => {
    const word = wordOf(verdict);
    const text = { Allowed: "passes", Warned: "warns", Denied: "denies" }[word];
    const title = verdict.message ?? verdict.warnings.join("\n");
    const label = [h("span", { class: "release" }, release), " ", h("span", { class: "verdict" }, text)];
    const button = h("button", { type: "button", id: `release-${release}`, "aria-pressed": String(release === chosen), title, onclick: () => actions.choose(release) }, ...label);
    return h("li", { class: word.toLowerCase() }, button);
  });
  return [section("Result for each release", h("ol", { class: "releases" }, ...cells))];
}

function rest(more: ObjectVerdict[]): HTMLElement[] {
  if (more.length === 0) {
    return [];
  }
  const items = more.map(({ request, verdict }) => {
    const word = wordOf(verdict);
    return h("li", {}, h("span", { class: `badge ${word.toLowerCase()}` }, word), ` ${request.kind.kind} ${request.name ?? ""} `, verdict.message ?? verdict.warnings[0] ?? "");
  });
  return [section("The other objects", h("ul", { class: "others" }, ...items))];
}

function audit(verdict: Verdict): HTMLElement {
  const entries = Object.entries(verdict.auditAnnotations);
  if (entries.length === 0) {
    return h("div");
  }
  const rows = entries.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]);
  return section("In the audit log", h("dl", { class: "audit" }, ...rows));
}

// The page: input on the left, result on the right, updated as you type.
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import { type AdmissionRequest, explain, init, kinds, releases, rules, settingsSchema } from "managed-by/web";
import { evaluateInput, type Part, type Result, verdictOf } from "./result.js";
import { completeBy } from "./completion.js";
import { byId } from "./dom.js";
import { NARROW } from "./machine.js";
import { Editor } from "./editor.js";
import { EXAMPLES, fillChoices } from "./examples.js";
import { FIRST, fromFragment, isShared, type Operation, type Input, toFragment } from "./input.js";
import { ReplayView } from "./replay-view.js";
import { forget, save, saved } from "./saved.js";
import { objectSchema, type Schema, settingsSchemaWith } from "./schema.js";
import { recall, switchWith } from "./theme.js";
import { SETTINGS, show } from "./view.js";
import { toYaml } from "./yaml.js";

recall();

const PARTS: Part[] = ["object", "oldObject", "settings"];
const username = byId<HTMLInputElement>("username");
const groups = byId<HTMLInputElement>("groups");
const operation = byId<HTMLSelectElement>("operation");
const choices = byId<HTMLSelectElement>("example");
const release = byId<HTMLSelectElement>("release");
const resultPanel = byId("result");
const spoken = byId("spoken");

fillChoices(choices, "Choose an example");
switchWith(byId("theme"));
if ("serviceWorker" in navigator && location.protocol === "https:" || location.hostname === "localhost") {
  // Optional: with the service worker, the page also works offline.
  navigator.serviceWorker?.register(new URL("./sw.js", import.meta.url)).catch(() => undefined);
}

await init();

const NEWEST = releases().at(-1) ?? SETTINGS;
const known = kinds();
const settingsOf = settingsSchemaWith(known, settingsSchema() as Schema);
const textOf = (doc: Text, key: string): string => new RegExp(`^${key}:\\s*["']?([\\w./-]+)`, "m").exec(doc.toString())?.[1] ?? "";
const complete = completeBy((doc) => objectSchema(known, textOf(doc, "apiVersion"), textOf(doc, "kind")));
const editors: Record<Part, Editor> = {
  object: new Editor(byId("panel-object"), "Object, as YAML", complete, edited),
  oldObject: new Editor(byId("panel-oldObject"), "Old object, as YAML", complete, edited),
  settings: new Editor(byId("panel-settings"), "Settings of the policy, as YAML", completeBy(() => settingsOf), edited),
};
const history = new ReplayView((opened) => {
  history.close();
  choices.value = "";
  put({ ...readInput(), ...opened });
  editors.object.focus();
});
let result: Result = { evaluated: [], problems: [], unknown: [] };

function readInput(): Input {
  return {
    operation: operation.value as Operation,
    object: editors.object.text,
    oldObject: editors.oldObject.text,
    username: username.value,
    groups: groups.value,
    settings: editors.settings.text,
    release: release.value,
  };
}

/** Fills the list of releases, newest first. The last option evaluates the settings unchanged. */
function fillReleases(): void {
  const named = /^["']?kubernetes_version["']?:\s*["']?([\d.]+)/m.exec(editors.settings.text)?.[1];
  const ofSettings = named === undefined ? "no release: default settings" : `${named}, from the settings`;
  const chosen = release.value;
  release.replaceChildren(...releases().reverse().map((name) => new Option(name, name)), new Option(ofSettings, SETTINGS));
  release.value = chosen === "" ? NEWEST : chosen;
}

/** Returns the release to evaluate: the selected one, or the one that the settings name. */
function releaseFor({ settings, release: chosen }: Input): string {
  if (chosen !== undefined && (chosen === SETTINGS || releases().includes(chosen))) {
    return chosen;
  }
  return settings.includes("kubernetes_version") ? SETTINGS : NEWEST;
}

function put(next: Input): void {
  operation.value = next.operation;
  username.value = next.username;
  groups.value = next.groups;
  for (const part of PARTS) {
    editors[part].text = next[part];
  }
  fillReleases();
  release.value = releaseFor(next);
  open("object");
  evaluate();
  const [first] = result.evaluated;
  const position = first === undefined ? undefined : verdictOf(first, release.value).findings[0]?.position;
  if (position !== undefined) {
    editors.object.reveal(position.from);
  }
}

/** Handles an edit: deselects the example, saves the input and evaluates it. */
function edited(): void {
  choices.value = "";
  notify("");
  save(readInput());
  if (location.hash !== "") {
    window.history.replaceState(null, "", location.pathname + location.search);
  }
  evaluate();
}

function evaluate(): void {
  performance.mark("evaluate");
  const input = readInput();
  const isUpdate = input.operation !== "create";
  byId("tab-oldObject").hidden = !isUpdate;
  if (!isUpdate && selected() === "oldObject") {
    open("object");
  }
  editors.object.compareWith(isUpdate ? input.oldObject : undefined);
  fillReleases();
  result = evaluateInput(input);
  spoken.textContent = show(resultPanel, result, input.settings, release.value, {
    choose: (chosen) => {
      release.value = chosen;
      edited();
      document.getElementById(`release-${chosen}`)?.focus();
    },
    goTo: (from) => goTo("object", from),
    goToProblem: (index) => {
      const problem = result.problems[index];
      if (problem !== undefined) {
        goTo(problem.part, problem.position.from);
      }
    },
  });
  underline();
  performance.measure("verdict", "evaluate");
}

function underline(): void {
  const diagnostics: Record<Part, Diagnostic[]> = { object: [], oldObject: [], settings: [] };
  for (const { part, position, message } of result.problems) {
    diagnostics[part].push({ from: position.from, to: position.to, severity: "error", message });
  }
  for (const finding of result.evaluated.flatMap((evaluated) => verdictOf(evaluated, release.value).findings)) {
    const { position, enforcement, rule, message } = finding;
    if (position !== undefined) {
      diagnostics.object.push({ from: position.from, to: position.to, severity: enforcement === "deny" ? "error" : "warning", source: rule, message });
    }
  }
  for (const part of PARTS) {
    editors[part].show(diagnostics[part]);
    const tab = byId(`tab-${part}`);
    tab.classList.toggle("denied", diagnostics[part].some((d) => d.severity === "error"));
    tab.classList.toggle("warned", diagnostics[part].some((d) => d.severity === "warning"));
  }
}

function goTo(part: Part, from: number): void {
  open(part);
  editors[part].goTo(from);
}

/* Tabs, as the ARIA practices have them: arrows move, Tab leaves. */

function selected(): Part {
  return PARTS.find((part) => byId(`tab-${part}`).getAttribute("aria-selected") === "true") ?? "object";
}

function open(part: Part): void {
  for (const other of PARTS) {
    const isOpen = other === part;
    const tab = byId(`tab-${other}`);
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    byId(`panel-${other}`).hidden = !isOpen;
  }
  editors[part].measure();
}

for (const part of PARTS) {
  const tab = byId(`tab-${part}`);
  tab.addEventListener("click", () => open(part));
  tab.addEventListener("keydown", (event) => {
    const shown = PARTS.filter((other) => !byId(`tab-${other}`).hidden);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step === undefined ? undefined : shown[(shown.indexOf(part) + step + shown.length) % shown.length];
    if (next !== undefined) {
      open(next);
      byId(`tab-${next}`).focus();
    }
  });
}

/* Event handlers of fields and buttons. */

for (const field of [username, groups, operation, release]) {
  field.addEventListener("input", () => {
    // An update needs an old object.
    if (field === operation && operation.value !== "create" && editors.oldObject.text === "") {
      editors.oldObject.text = editors.object.text;
    }
    edited();
  });
}

choices.addEventListener("change", () => {
  const example = EXAMPLES.find(({ name }) => name === choices.value);
  if (example !== undefined) {
    history.close();
    notify("");
    put(example.input);
    window.history.replaceState(null, "", `${location.pathname}${location.search}#example=${example.name}`);
  }
});

byId("share").addEventListener("click", async () => {
  const link = new URL(location.href);
  link.hash = await toFragment(readInput());
  window.history.replaceState(null, "", link);
  const button = byId("share-text");
  try {
    await navigator.clipboard.writeText(link.href);
    button.textContent = "Link copied";
  } catch {
    // Without clipboard permission, the link is in the address bar.
    button.textContent = "Link in the address bar";
  }
  setTimeout(() => {
    button.textContent = "Share";
  }, 2500);
});

const file = byId<HTMLInputElement>("file");
byId("replay-open").addEventListener("click", () => file.click());
file.addEventListener("change", () => {
  const [chosen] = file.files ?? [];
  if (chosen !== undefined) {
    void take(chosen);
  }
  file.value = "";
});

addEventListener("dragover", (event) => {
  if (event.dataTransfer?.types.includes("Files") === true) {
    event.preventDefault();
    document.body.classList.add("dragging");
  }
});
addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) {
    document.body.classList.remove("dragging");
  }
});
addEventListener("drop", (event) => {
  document.body.classList.remove("dragging");
  const [dropped] = event.dataTransfer?.files ?? [];
  if (dropped !== undefined) {
    event.preventDefault();
    void take(dropped);
  }
});

byId("replay-sample").addEventListener("click", async () => {
  const response = await fetch(new URL("./sample.ndjson", import.meta.url));
  replay(new File([await response.blob()], "sample.ndjson"));
});

/** Replays a history for the selected release. Settings that are not in YAML block style are used unchanged. */
function replay(chosen: File): void {
  const text = editors.settings.text;
  const isOfLines = !/^\s*\{|^apiVersion:|^---/m.test(text);
  const line = `kubernetes_version: "${release.value}"`;
  const named = /^kubernetes_version:.*$/m;
  if (release.value === SETTINGS || !isOfLines) {
    history.start(chosen, text);
  } else {
    history.start(chosen, named.test(text) ? text.replace(named, line) : `${line}\n${text}`, release.value);
  }
}

/** Maximum size of a manifest; larger files are replayed as histories. */
const MAX_MANIFEST = 2_000_000;

/** Opens a manifest in the editor, and replays any other file. */
async function take(chosen: File): Promise<void> {
  if (chosen.size > MAX_MANIFEST || !(/\.ya?ml$/i.test(chosen.name) || isManifest(await chosen.text()))) {
    replay(chosen);
    return;
  }
  history.close();
  put({ ...readInput(), object: await chosen.text() });
  edited();
  notify(`${chosen.name} is in the editor.`);
}

/** Returns true if a text is a single object as kubectl writes it, and not an event. */
function isManifest(text: string): boolean {
  try {
    const { kind, metadata } = JSON.parse(text) as { kind?: unknown; metadata?: unknown };
    return typeof kind === "string" && typeof metadata === "object" && !["Event", "EventList", "List"].includes(kind);
  } catch {
    return false;
  }
}

/** Shows a notice about the page; hides it if the text is empty. */
function notify(text: string, canForget = false): void {
  byId("notice-text").textContent = text;
  byId("notice").hidden = text === "";
  byId("forget").hidden = !canForget;
}

byId("forget").addEventListener("click", () => {
  forget();
  notify("");
  put(FIRST);
  editors.object.focus();
});

/* The picture has one form for wide windows, and one for narrow ones. */
matchMedia(NARROW).addEventListener("change", evaluate);
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && history.isOpen) {
    history.close();
    byId("replay-open").focus();
  }
});

/** Returns the rejected example from a rule's page. */
function ofRule(id: string): Input | undefined {
  if (!rules().some((rule) => rule.id === id)) {
    return undefined;
  }
  const { settings, request } = explain(id).rejected;
  const yaml = (object: object | null | undefined): string => (object === null || object === undefined ? "" : toYaml(whole(request, object)));
  return {
    operation: request.subResource === "status" ? "status" : request.operation === "UPDATE" ? "update" : "create",
    object: yaml(request.object),
    oldObject: yaml(request.oldObject),
    username: request.userInfo?.username ?? "",
    groups: (request.userInfo?.groups ?? []).join(", "),
    settings: Object.keys(settings).length === 0 ? "" : toYaml(settings),
  };
}

/** Completes an object from a rule's page with apiVersion, kind and metadata. */
function whole({ requestKind, kind: evaluated, name, namespace }: AdmissionRequest, object: object): object {
  // Use the version that the client sends, not the one that the API server converts to.
  const kind = requestKind ?? evaluated;
  const { metadata, ...others } = object as { metadata?: object };
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  return { apiVersion, kind: kind.kind, metadata: { name: name ?? "example", namespace: namespace ?? "default", ...metadata }, ...others };
}

/** Loads the input from the URL, the edits of the last visit, or the default example. */
async function begin(): Promise<void> {
  const shared = await fromFragment(location.hash);
  const name = /^#example=(.*)$/.exec(location.hash)?.[1];
  const example = EXAMPLES.find((candidate) => candidate.name === name);
  const rule = ofRule(decodeURIComponent(/^#rule=([\w%/-]*)$/.exec(location.hash)?.[1] ?? ""));
  const typed = location.hash === "" ? saved() : undefined;
  choices.value = example?.name ?? "";
  put(shared ?? example?.input ?? rule ?? typed ?? FIRST);
  notify("");
  if (isShared(location.hash) && shared === undefined) {
    notify("The link is cut or broken, so the shared input cannot be shown. Request a new link. Below is the first example.");
  } else if (typed !== undefined) {
    notify("These are your edits of the last visit. They are kept on this machine.", true);
  }
}

addEventListener("hashchange", () => void begin());
await begin();
document.body.classList.add("ready");

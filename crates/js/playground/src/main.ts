// The page: input on the left, result on the right, updated as you type.
import type { Diagnostic } from "@codemirror/lint";
import { type AdmissionRequest, explain, releaseRange, releases, rules } from "managed-by/web";
import { byId } from "./dom.js";
import { Editor } from "./editor.js";
import { type Cursor, type EditorId, type Entry, entryAt, type InputEvaluation, SETTINGS } from "./evaluation.js";
import { EvaluationClient } from "./evaluation-client.js";
import type { EvaluationResponse } from "./evaluation-worker.js";
import { EXAMPLES, fillExamples } from "./examples.js";
import { DEFAULT_INPUT, fromFragment, type Input, isShared, type Operation, parseInput, toFragment } from "./input.js";
import { ReplayView } from "./replay-view.js";
import { showEvaluation, showFailure } from "./view.js";
import { toYaml } from "./yaml.js";

const EDITORS: EditorId[] = ["object", "oldObject", "settings"];
const username = byId<HTMLInputElement>("username");
const groups = byId<HTMLInputElement>("groups");
const operation = byId<HTMLSelectElement>("operation");
const example = byId<HTMLSelectElement>("example");
const release = byId<HTMLSelectElement>("release");
const resultPanel = byId("result");
const liveRegion = byId("live-region");

fillExamples(example, "Choose an example");

const NEWEST = releases().at(-1) ?? SETTINGS;

const editors: Record<EditorId, Editor> = {
  object: new Editor(byId("panel-object"), "Object, as YAML", onEdit, onObjectCursor),
  oldObject: new Editor(byId("panel-oldObject"), "Old object, as YAML", onEdit),
  settings: new Editor(byId("panel-settings"), "Settings of the policy, as YAML", onEdit),
};
const replayView = new ReplayView((step) => {
  replayView.close();
  example.value = "";
  setInput({ ...readInput(), ...step });
  editors.object.focus();
});
const client = new EvaluationClient(() => ({ input: readInput(), cursor: cursor() }), showResponse);
fillReleases();
let evaluation: InputEvaluation = { entries: [], counts: {}, findings: [], problems: [], unsupported: [] };
/** True to show the update of the status, if an object has two. */
let isStatus = false;
/** True if the next evaluation scrolls to its first finding. */
let isNewInput = false;

function cursor(): Cursor {
  return { position: editors.object.cursor, isStatus };
}

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
  release.replaceChildren(...releases().reverse().map((name) => new Option(releaseRange(name), name)), new Option("", SETTINGS));
  release.value = NEWEST;
}

/** Labels the last option with the release in the settings. */
function labelSettingsRelease(): void {
  const version = /(?:^|[{,\s])["']?kubernetes_version["']?\s*:\s*["']?([\w.+-]+)/m.exec(editors.settings.text)?.[1];
  const label = version === undefined ? "settings without kubernetes_version" : `${version}, from the settings`;
  const option = release.options[release.length - 1];
  if (option !== undefined && option.text !== label) {
    option.text = label;
  }
}

/** Returns the release to evaluate: the selected one, or the one that the settings name. */
function releaseFor({ settings, release: chosen }: Input): string {
  if (chosen !== undefined && (chosen === SETTINGS || releases().includes(chosen))) {
    return chosen;
  }
  return settings.includes("kubernetes_version") ? SETTINGS : NEWEST;
}

/** Replaces the input, and shows its first finding. */
function setInput(next: Input): void {
  operation.value = next.operation;
  username.value = next.username;
  groups.value = next.groups;
  for (const id of EDITORS) {
    editors[id].text = next[id];
  }
  release.value = releaseFor(next);
  openTab("object");
  isStatus = false;
  isNewInput = true;
  evaluate();
}

/** Key of the edits in the storage of this tab, so that they survive a reload. */
const EDITS = "managed-by-edits";
let isEdited = false;

function storage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined; // The browser blocks it.
  }
}

/** Handles an edit: deselects the example and evaluates the input. */
function onEdit(): void {
  example.value = "";
  notify("");
  isEdited = true;
  if (location.hash !== "") {
    window.history.replaceState(null, "", location.pathname + location.search);
  }
  evaluate();
}

addEventListener("pagehide", () => {
  if (isEdited) {
    storage()?.setItem(EDITS, JSON.stringify(readInput()));
  }
});

/** Shows the object at the cursor when it moves to another one. */
function onObjectCursor(): void {
  const { current, entries } = evaluation;
  if (entries.length > 1 && current !== entryAt(entries, { ...cursor(), isStatus: false })) {
    isStatus = false;
    evaluate();
  }
}

/** Updates the form, and requests an evaluation. */
function evaluate(): void {
  performance.mark("evaluate");
  const isUpdate = operation.value !== "create";
  byId("tab-oldObject").hidden = !isUpdate;
  if (!isUpdate && openEditor() === "oldObject") {
    openTab("object");
  }
  labelSettingsRelease();
  resultPanel.setAttribute("aria-busy", "true");
  client.request(editors.object.length + editors.oldObject.length);
}

function showResponse(response: EvaluationResponse): void {
  if (response.kind === "evaluation") {
    evaluation = response.evaluation;
    liveRegion.textContent = showEvaluation(resultPanel, evaluation, release.value, { goTo: (from) => goTo("object", from), goToProblem, selectRelease, selectEntry });
    underline();
    const position = evaluation.current?.findings[0]?.position;
    if (isNewInput && position !== undefined) {
      editors.object.reveal(position.from);
    }
  } else {
    const outcome = response.kind === "not-loaded" ? "The policy did not load" : "The evaluation failed";
    liveRegion.textContent = showFailure(resultPanel, outcome, response.message, () => client.restart());
  }
  isNewInput = false;
  resultPanel.setAttribute("aria-busy", String(client.isPending));
  document.body.classList.add("ready");
  performance.measure("verdict", "evaluate");
}

function selectRelease(selected: string): void {
  release.value = selected;
  onEdit();
}

function selectEntry(entry: Entry): void {
  openTab("object");
  isStatus = entry.isStatus;
  editors.object.moveTo(entry.position.from);
  evaluate();
}

function goToProblem(index: number): void {
  const problem = evaluation.problems[index];
  if (problem !== undefined) {
    goTo(problem.editor, problem.position.from);
  }
}

function underline(): void {
  const diagnostics: Record<EditorId, Diagnostic[]> = { object: [], oldObject: [], settings: [] };
  for (const { editor, position, message } of evaluation.problems) {
    diagnostics[editor].push({ from: position.from, to: position.to, severity: "error", message });
  }
  for (const { position, enforcement, rule, message } of evaluation.findings) {
    if (position !== undefined) {
      diagnostics.object.push({ from: position.from, to: position.to, severity: enforcement === "deny" ? "error" : "warning", source: rule, message });
    }
  }
  for (const id of EDITORS) {
    editors[id].show(diagnostics[id]);
    const tab = byId(`tab-${id}`);
    tab.classList.toggle("denied", diagnostics[id].some((d) => d.severity === "error"));
    tab.classList.toggle("warned", diagnostics[id].some((d) => d.severity === "warning"));
  }
}

function goTo(id: EditorId, from: number): void {
  openTab(id);
  editors[id].goTo(from);
}

/* Tabs that follow the ARIA Authoring Practices: arrow keys switch tabs, and the Tab key moves focus out of the tab list. */

function openEditor(): EditorId {
  return EDITORS.find((id) => byId(`tab-${id}`).getAttribute("aria-selected") === "true") ?? "object";
}

function openTab(id: EditorId): void {
  for (const other of EDITORS) {
    const isOpen = other === id;
    const tab = byId(`tab-${other}`);
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    byId(`panel-${other}`).hidden = !isOpen;
  }
  editors[id].measure();
}

for (const id of EDITORS) {
  const tab = byId(`tab-${id}`);
  tab.addEventListener("click", () => openTab(id));
  tab.addEventListener("keydown", (event) => {
    const visible = EDITORS.filter((other) => !byId(`tab-${other}`).hidden);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step === undefined ? undefined : visible[(visible.indexOf(id) + step + visible.length) % visible.length];
    if (next !== undefined) {
      openTab(next);
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
    onEdit();
  });
}

example.addEventListener("change", () => {
  const selected = EXAMPLES.find(({ name }) => name === example.value);
  if (selected !== undefined) {
    replayView.close();
    notify("");
    setInput(selected.input);
    window.history.replaceState(null, "", `${location.pathname}${location.search}#example=${selected.name}`);
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
  const [selected] = file.files ?? [];
  if (selected !== undefined) {
    void openFile(selected);
  }
  file.value = "";
});

addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  const [dropped] = event.dataTransfer?.files ?? [];
  if (dropped !== undefined) {
    event.preventDefault();
    void openFile(dropped);
  }
});

byId("replay-sample").addEventListener("click", async () => {
  const response = await fetch(new URL("./sample.ndjson", import.meta.url));
  replay(new File([await response.blob()], "sample.ndjson"));
});

/** Replays a history for the selected release. Settings that are not in YAML block style are used unchanged. */
function replay(history: File): void {
  const settings = editors.settings.text;
  const isBlockStyle = !/^\s*\{|^apiVersion:|^---/m.test(settings);
  const line = `kubernetes_version: "${release.value}"`;
  const version = /^kubernetes_version:.*$/m;
  if (release.value === SETTINGS || !isBlockStyle) {
    replayView.start(history, settings);
  } else {
    replayView.start(history, version.test(settings) ? settings.replace(version, line) : `${line}\n${settings}`, release.value);
  }
}

/** Maximum size of a manifest; larger files are replayed as histories. */
const MAX_MANIFEST = 2_000_000;

/** Opens a manifest in the editor, and replays any other file. */
async function openFile(selected: File): Promise<void> {
  if (selected.size > MAX_MANIFEST || !(/\.ya?ml$/i.test(selected.name) || isManifest(await selected.text()))) {
    replay(selected);
    return;
  }
  replayView.close();
  setInput({ ...readInput(), object: await selected.text() });
  onEdit();
  notify(`${selected.name} is in the editor.`);
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
function notify(text: string): void {
  byId("notice").textContent = text;
  byId("notice").hidden = text === "";
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && replayView.isOpen) {
    replayView.close();
    byId("replay-open").focus();
  }
});

/** Returns the rejected example from a rule's page. */
function inputOfRule(id: string): Input | undefined {
  if (!rules().some((rule) => rule.id === id)) {
    return undefined;
  }
  const { settings, request } = explain(id).rejected;
  const yaml = (object: object | null | undefined): string => (object === null || object === undefined ? "" : toYaml(withTypeAndName(request, object)));
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
function withTypeAndName({ requestKind, kind: evaluated, name, namespace }: AdmissionRequest, object: object): object {
  // Use the version that the client sends, not the one that the API server converts to.
  const kind = requestKind ?? evaluated;
  const { metadata, ...others } = object as { metadata?: object };
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  return { apiVersion, kind: kind.kind, metadata: { name: name ?? "example", namespace: namespace ?? "default", ...metadata }, ...others };
}

/** Loads the input from the URL, the edits before a reload, or the default example. */
async function loadInput(): Promise<void> {
  const shared = await fromFragment(location.hash);
  const name = /^#example=(.*)$/.exec(location.hash)?.[1];
  const named = EXAMPLES.find((candidate) => candidate.name === name);
  const rule = /^#rule=([\w%/-]*)$/.exec(location.hash)?.[1] ?? "";
  const ofRule = inputOfRule(rule.replace(/%2F/gi, "/"));
  const edits = location.hash === "" ? storage()?.getItem(EDITS) : undefined;
  example.value = named?.name ?? "";
  setInput(shared ?? named?.input ?? ofRule ?? parseInput(JSON.parse(edits ?? "null")) ?? DEFAULT_INPUT);
  notify("");
  if (isShared(location.hash) && shared === undefined) {
    notify("The link is incomplete or damaged, so the shared input cannot be loaded. Ask for a new link. The first example is shown instead.");
  }
}

addEventListener("hashchange", () => void loadInput());
await loadInput();

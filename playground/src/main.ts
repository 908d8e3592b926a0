// The page: what is asked on the left, the answer on the right, as you type.
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import { init, kinds, settingsSchema } from "managed-by/web";
import { type Answer, ask, type Part } from "./answer.js";
import { completeBy } from "./completion.js";
import { byId } from "./dom.js";
import { Editor } from "./editor.js";
import { EXAMPLES, fillChoices } from "./examples.js";
import { EMPTY, fromFragment, type Operation, type Question, toFragment } from "./question.js";
import { ReplayView } from "./replay-view.js";
import { objectSchema, type Schema, settingsSchemaWith } from "./schema.js";
import { recall, switchWith } from "./theme.js";
import { show } from "./view.js";

recall();

const PARTS: Part[] = ["object", "oldObject", "settings"];
const username = byId<HTMLInputElement>("username");
const groups = byId<HTMLInputElement>("groups");
const operation = byId<HTMLSelectElement>("operation");
const choices = byId<HTMLSelectElement>("example");
const said = byId("said");
const spoken = byId("spoken");

fillChoices(choices, "Choose an example");
switchWith(byId("theme"));
if ("serviceWorker" in navigator && location.protocol === "https:" || location.hostname === "localhost") {
  // The page works without it; with it, without a network too.
  navigator.serviceWorker?.register(new URL("./sw.js", import.meta.url)).catch(() => undefined);
}

await init();

const known = kinds();
const settingsOf = settingsSchemaWith(known, settingsSchema() as Schema);
const textOf = (doc: Text, key: string): string => new RegExp(`^${key}:\\s*["']?([\\w./-]+)`, "m").exec(doc.toString())?.[1] ?? "";
const complete = completeBy((doc) => objectSchema(known, textOf(doc, "apiVersion"), textOf(doc, "kind")));
const editors: Record<Part, Editor> = {
  object: new Editor(byId("panel-object"), "Object, as YAML", complete, edited),
  oldObject: new Editor(byId("panel-oldObject"), "Old object, as YAML", complete, edited),
  settings: new Editor(byId("panel-settings"), "Settings of the policy, as YAML", completeBy(() => settingsOf), edited),
};
const history = new ReplayView();
let answer: Answer = { judged: [], troubles: [], unknown: [] };

function question(): Question {
  return {
    operation: operation.value as Operation,
    object: editors.object.text,
    oldObject: editors.oldObject.text,
    username: username.value,
    groups: groups.value,
    settings: editors.settings.text,
  };
}

function put(next: Question): void {
  operation.value = next.operation;
  username.value = next.username;
  groups.value = next.groups;
  for (const part of PARTS) {
    editors[part].text = next[part];
  }
  open("object");
  judge();
  const place = answer.judged[0]?.verdict.findings[0]?.place;
  if (place !== undefined) {
    editors.object.reveal(place.from);
  }
}

/** A person changed something: the example is no example any more. */
function edited(): void {
  choices.value = "";
  if (location.hash !== "") {
    window.history.replaceState(null, "", location.pathname + location.search);
  }
  judge();
}

function judge(): void {
  performance.mark("asked");
  const asked = question();
  const isUpdate = asked.operation !== "create";
  byId("tab-oldObject").hidden = !isUpdate;
  if (!isUpdate && selected() === "oldObject") {
    open("object");
  }
  editors.object.compareWith(isUpdate ? asked.oldObject : undefined);
  answer = ask(asked);
  spoken.textContent = show(said, answer, asked.settings, {
    goTo: (from) => goTo("object", from),
    goToTrouble: (index) => {
      const trouble = answer.troubles[index];
      if (trouble !== undefined) {
        goTo(trouble.part, trouble.place.from);
      }
    },
  });
  underline();
  performance.measure("verdict", "asked");
}

function underline(): void {
  const diagnostics: Record<Part, Diagnostic[]> = { object: [], oldObject: [], settings: [] };
  for (const { part, place, message } of answer.troubles) {
    diagnostics[part].push({ from: place.from, to: place.to, severity: "error", message });
  }
  for (const finding of answer.judged.flatMap(({ verdict }) => verdict.findings)) {
    const { place, enforcement, rule, message } = finding;
    if (place !== undefined) {
      diagnostics.object.push({ from: place.from, to: place.to, severity: enforcement === "deny" ? "error" : "warning", source: rule, message });
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

/* What the fields and buttons do. */

for (const field of [username, groups, operation]) {
  field.addEventListener("input", () => {
    // What is updated was there before.
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
    put(example.question);
    window.history.replaceState(null, "", `${location.pathname}${location.search}#example=${example.name}`);
  }
});

byId("share").addEventListener("click", async () => {
  const link = new URL(location.href);
  link.hash = await toFragment(question());
  window.history.replaceState(null, "", link);
  const button = byId("share-text");
  try {
    await navigator.clipboard.writeText(link.href);
    button.textContent = "Link copied";
  } catch {
    // Without leave to write to the clipboard the link is in the address bar.
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
    history.start(chosen, editors.settings.text);
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
    history.start(dropped, editors.settings.text);
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && history.isOpen) {
    history.close();
    byId("replay-open").focus();
  }
});

/** What the address asks for, or the first example with something to see. */
async function begin(): Promise<void> {
  const shared = await fromFragment(location.hash);
  const name = /^#example=(.*)$/.exec(location.hash)?.[1];
  const example = EXAMPLES.find((candidate) => candidate.name === name) ?? EXAMPLES.find((candidate) => candidate.name === "field/04-typo-in-the-reserved-value");
  if (shared !== undefined) {
    put(shared);
  } else if (example !== undefined) {
    choices.value = example.name;
    put(example.question);
  } else {
    put(EMPTY);
  }
}

addEventListener("hashchange", () => void begin());
await begin();
document.body.classList.add("ready");

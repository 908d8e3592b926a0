// Tests inputs with several documents.
import assert from "node:assert/strict";
import { test } from "node:test";
import { editor, evaluated, JOB, load, outcome, overall, paste, select, subject, usePage } from "./support.mjs";

const onPage = usePage();

const named = (name, managedBy = "acme.io/runner") => JOB.replace("name: pi", `name: ${name}`).replace("kueue.x-k8s.io/multikueue", managedBy);
const entries = (page) => page.locator(".entries button").allInnerTexts();
const selected = (page) => page.locator('.entries [aria-pressed="true"]').innerText();

/** Clicks a line of the object. */
async function clickLine(page, text) {
  await editor(page).getByText(text, { exact: true }).first().click();
  await evaluated(page);
}

test("the page shows the result of the document at the cursor", async () => {
  const text = ["# three documents", named("good"), named("typo", "kueue.x-k8s.io/multikueu"), named("bad", "not a name"), "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\n", "metadata: [\n"].join("\n---\n");
  await onPage(async (page) => {
    await paste(page, text);
    assert.deepEqual(await entries(page), ["Allowed Job good line 3", "Warned Job typo line 11", "Denied Job bad line 19", "Invalid input line 32"]);
    assert.equal(
      await page.locator(".overall .subject").innerText(),
      "5 objects: 1 denied, 1 warned, 1 allowed, 1 not evaluated, 1 invalid input. The policy does not support Pod: it allows such objects, with a warning.",
    );
    // Pasting leaves the cursor at the end.
    assert.match(await selected(page), /^Invalid input/);
    await clickLine(page, "good");
    assert.match(await subject(page), /default\/good/);
    await clickLine(page, "bad");
    assert.match(await outcome(page), /^This object: denied/);
    assert.match(await subject(page), /default\/bad/);
    // The findings of the other documents stay underlined.
    assert.deepEqual(await page.locator("#panel-object .cm-lintRange").allInnerTexts().then((texts) => texts.slice(0, 2)), ["kueue.x-k8s.io/multikueu", "not a name"]);
    await page.locator(".entries button", { hasText: "typo" }).click();
    await evaluated(page);
    assert.match(await subject(page), /default\/typo/);
    assert.match(await page.evaluate(() => document.activeElement.innerText), /typo/);
    assert.equal(await page.locator("#panel-object .cm-activeLine").innerText(), "apiVersion: batch/v1");
    await page.locator(".finding .location").click();
    assert.equal(await page.locator("#panel-object .cm-activeLine").innerText(), "  managedBy: kueue.x-k8s.io/multikueu");
    // A document of comments has no result of its own.
    await clickLine(page, "# three documents");
    assert.match(await subject(page), /default\/good/);
    await paste(page, JOB);
    assert.equal(await page.locator(".entries").count(), 0);
  });
});

test("the outcome of several documents is the worst one", async () => {
  const [good, typo, bad] = [named("good"), named("typo", "kueue.x-k8s.io/multikueu"), named("bad", "not a name")];
  const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\n";
  const nameless = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: pi-}\n";
  // The second item of the list is not an object.
  const list = `apiVersion: v1\nkind: List\nitems:\n- ${good.trimEnd().replaceAll("\n", "\n  ")}\n- just text\n`;
  await onPage(async (page) => {
    for (const [documents, expected] of [
      [[good, good], "Allowed"],
      [[good, typo], "Allowed with warnings"],
      [[good, bad], "Denied"],
      [[bad, typo, pod, "metadata: [\n"], "Denied"],
      [[good, pod], "Not completely evaluated"],
      [[typo, nameless], "Not completely evaluated"],
      [[good, "metadata: [\n"], "Not completely evaluated"],
      [[list], "Not completely evaluated"],
    ]) {
      await load(page, { object: documents.join("---\n") });
      assert.equal(await overall(page), expected, expected);
      const announced = await page.locator("#live-region").textContent();
      assert.ok(announced.startsWith(`${expected}: ${Math.max(documents.length, 2)} objects: `), announced);
    }
    await load(page, { object: good });
    assert.equal(await outcome(page), "Allowed");
    assert.equal(await page.locator(".overall").count(), 0);
  });
});

test("parts of an object that are not evaluated are listed", async () => {
  const job = (template) => `${named("pi")}  suspend: true\n  template: {spec: {nodeSelector: {pool: ${template}}}}\n`;
  await onPage(async (page) => {
    await load(page, { operation: "update", object: job("b"), oldObject: job("a") });
    assert.match(await outcome(page), /not completely evaluated$/);
    assert.match(await page.locator("#result section", { hasText: "Not evaluated" }).innerText(), /spec\.template.*: not checked, kube-apiserver may reject the change/);
  });
});

test("the objects of a list are one click away", async () => {
  const items = ["a", "b"].map((name) => `- ${named(name, name === "b" ? "not a name" : undefined).trimEnd().replaceAll("\n", "\n  ")}\n`).join("");
  await onPage(async (page) => {
    await paste(page, `apiVersion: v1\nkind: List\nitems:\n${items}`);
    assert.deepEqual(await entries(page), ["Allowed Job a line 4", "Denied Job b line 10"]);
    await page.locator(".entries button", { hasText: "Job b" }).click();
    await evaluated(page);
    assert.match(await subject(page), /default\/b/);
    await page.locator(".finding .location").click();
    assert.match(await selected(page), /Job b/);
  });
});

test("an update compares each document with the old one of the same name", async () => {
  await onPage(async (page) => {
    await load(page, { operation: "update", object: [named("a"), named("b", "acme.io/x"), named("c")].join("---\n"), oldObject: [named("b"), named("a"), "metadata: [\n"].join("---\n") });
    assert.deepEqual(await entries(page), ["Allowed Job a line 1", "Denied Job b line 8", "Invalid input line 18"]);
    assert.deepEqual(await page.locator(".problems .location").allInnerTexts(), ["old object, line 15", "object, line 18"]);
    await page.locator(".entries button", { hasText: "Job b" }).click();
    await evaluated(page);
    assert.match(await page.locator(".finding .message").first().innerText(), /field is immutable/);
    await load(page, { operation: "update", object: named("a"), oldObject: named("b") });
    assert.match(await subject(page), /cannot change the name/);
    await select(page, "#operation", "create");
    assert.match(await outcome(page), /^Allowed/);
  });
});

test("typing in a long text does not wait for the evaluation", async () => {
  const text = Array.from({ length: 3000 }, (_, index) => named(`job-${index}`, index % 3 === 0 ? "not a name" : undefined).replace("spec:", `  annotations: {note: "${"x".repeat(80)}"}\nspec:`)).join("---\n");
  assert.ok(text.length > 600_000, `${text.length}`);
  await onPage(async (page) => {
    await load(page, { object: text });
    assert.match(await page.locator(".overall .subject").innerText(), /^3,000 objects: 1,000 denied, 2,000 allowed\. The list shows at most 100 objects, and omits allowed ones\.$/);
    assert.equal(await page.locator(".entries button").count(), 100);
    // The module is only in the worker, which therefore evaluates everything.
    assert.ok(page.workers().some((worker) => worker.url().endsWith("/evaluation-worker.js")));
    assert.deepEqual(await page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".wasm"))), []);
    await editor(page).press("Control+Home");
    await page.evaluate(() => performance.clearMeasures());
    await page.keyboard.type("# typed");
    assert.equal(await page.locator("#result").getAttribute("aria-busy"), "true");
    await evaluated(page);
    assert.equal(await page.evaluate(() => performance.getEntriesByName("verdict").length), 1);
    assert.match(await editor(page).innerText(), /^# typed/);
    // The object at the cursor is listed, even after 100 denied ones.
    await editor(page).press("Control+End");
    await evaluated(page);
    assert.match(await selected(page), /^Allowed Job job-2999 /);
    assert.equal(await page.locator(".entries button").count(), 100);
  });
});

test("a pasted AdmissionReview is evaluated with its operation and objects", async () => {
  const object = (managedBy) => ({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", namespace: "team-a" }, spec: { managedBy } });
  const kind = { group: "batch", version: "v1", kind: "Job" };
  const request = { uid: "1", kind, operation: "UPDATE", name: "pi", namespace: "team-a", userInfo: {}, object: object("acme.io/b"), oldObject: object("acme.io/a") };
  await onPage(async (page) => {
    await paste(page, JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }));
    assert.match(await outcome(page), /^Denied/);
    assert.match(await subject(page), /team-a\/pi/);
    assert.match(await page.locator("#result").innerText(), /managed-by\/immutable/);
  });
});


// Tests the replay of histories, and dropped files.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { editor, history, JOB, outcome, paste, printed, usePage } from "./support.mjs";

const onPage = usePage();

test("a finding of the sample history opens its step in the editors", async () => {
  await onPage(async (page) => {
    await page.click("#replay-sample");
    await page.waitForSelector(".totals");
    assert.equal((await page.locator(".totals .denied dd").innerText()).trim(), "3");
    assert.match(await page.locator("#replay caption").innerText(), /on Kubernetes 1\.37/);
    const step = page.locator(".steps li", { hasText: "cannot decrease the failed counter" });
    await step.getByRole("button", { name: /^Open line 8 in the editors/ }).click();
    await page.waitForFunction(() => document.querySelector("#replay").hidden);
    assert.equal(await page.inputValue("#operation"), "status");
    assert.match(await editor(page).innerText(), /name: counter[\s\S]*failed: 1$/m);
    assert.match(await outcome(page), /^Denied/);
    assert.match(await printed(page), /status\.failed: Invalid value: 1: cannot decrease the failed counter/);
    await page.getByRole("tab", { name: "Old object" }).click();
    assert.match(await page.locator("#panel-oldObject .cm-content").innerText(), /failed: 2/);
  });
});

test("a step can be opened from every input format", async () => {
  const state = (version, failed) => ({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", namespace: "default", uid: "1", resourceVersion: version }, spec: { managedBy: "a.io/x" }, status: { failed } });
  const [before, now] = [state("1", 2), state("2", 1)];
  const event = (object) => ({
    kind: "Event", apiVersion: "audit.k8s.io/v1", level: "RequestResponse", auditID: object.metadata.resourceVersion, stage: "ResponseComplete", verb: "update",
    user: { username: "runner" }, objectRef: { resource: "jobs", namespace: "default", name: "pi", apiGroup: "batch", apiVersion: "v1", subresource: "status" },
    responseStatus: { code: 200 }, requestObject: object, responseObject: object,
  });
  const ofOtherGroup = { ...state("3", 0), apiVersion: "batch.volcano.sh/v1alpha1" };
  const pretty = [before, ofOtherGroup, now].map((object) => `${JSON.stringify(object, null, 2)}\n`).join("");
  const audit = [before, now].map((object) => `${JSON.stringify(event(object))}\n`).join("");
  await onPage(async (page) => {
    for (const [name, text] of [["pretty.json", pretty], ["audit.log", audit], ["packed.gz", gzipSync(audit)]]) {
      await page.setInputFiles("#file", { name, mimeType: "text/plain", buffer: Buffer.from(text) });
      await page.waitForSelector(".steps button");
      await page.locator(".steps button").first().click();
      await page.waitForFunction(() => document.querySelector("#replay").hidden);
      assert.match(await editor(page).innerText(), /failed: 1/, name);
      assert.match(await printed(page), /cannot decrease the failed counter/, name);
    }
  });
});

test("a rejected write is shown with the API server's response and its evaluation", async () => {
  const job = (resourceVersion, failed) => ({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", namespace: "default", uid: "1", resourceVersion }, spec: { managedBy: "a.io/x" }, status: { failed } });
  const message = 'Job.batch "pi" is invalid: status.failed: Invalid value: 1: cannot decrease the failed counter';
  const event = (code, requestObject, more) => ({
    kind: "Event", apiVersion: "audit.k8s.io/v1", level: "RequestResponse", stage: "ResponseComplete", verb: "update", user: { username: "runner" },
    objectRef: { resource: "jobs", namespace: "default", name: "pi", apiGroup: "batch", apiVersion: "v1", subresource: "status" },
    responseStatus: { code, ...(code === 422 ? { message } : {}) }, requestObject, responseObject: code === 200 ? requestObject : { kind: "Status", apiVersion: "v1" }, ...more,
  });
  const { apiVersion: _, kind: __, ...sent } = job("1", 1);
  const events = [event(200, job("1", 2)), event(422, sent), event(409, job("0", 2)), event(422, { status: { failed: 1 } }, { verb: "patch" }), event(200, job("2", 3))];
  await onPage(async (page) => {
    await page.setInputFiles("#file", { name: "audit.log", mimeType: "text/plain", buffer: Buffer.from(events.map((entry) => `${JSON.stringify(entry)}\n`).join("")) });
    await page.waitForSelector(".steps button");
    const rejected = page.locator(".totals div", { hasText: "rejected by the API server" });
    assert.equal(await rejected.locator("dd").innerText(), "3");
    assert.match(await page.locator("#replay-result").innerText(), /1 of the rejected writes are not listed: conflicts/);
    const steps = page.locator(".steps li", { has: page.locator(".badge", { hasText: "rejected" }) });
    assert.deepEqual(await steps.locator(".position").allInnerTexts(), ["line 2", "line 4"]);
    assert.deepEqual(await steps.nth(0).locator(".message").allInnerTexts(), [`The API server answered 422: ${message}`, `The policy denies it too: ${message}`]);
    assert.match(await steps.nth(1).innerText(), /Not evaluated: the audit event does not contain the whole object/);
    assert.equal(await steps.nth(1).locator("button").count(), 0);
    await steps.nth(0).getByRole("button", { name: "Open line 2 in the editors" }).click();
    await page.waitForFunction(() => document.querySelector("#replay").hidden);
    assert.match(await outcome(page), /^Denied/);
    assert.match(await editor(page).innerText(), /^kind: Job$[\s\S]*failed: 1$/m);
    await page.getByRole("tab", { name: "Old object" }).click();
    assert.match(await page.locator("#panel-oldObject .cm-content").innerText(), /failed: 2/);
  });
});

test("a dropped manifest opens in the editor", async () => {
  await onPage(async (page) => {
    for (const [name, text] of [["job.yaml", JOB], ["job.yml", `# mine\n${JOB}`], ["job.json", JSON.stringify({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "json" }, spec: {} })]]) {
      const transfer = await page.evaluateHandle(([text, name]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([text], name));
        return transfer;
      }, [text, name]);
      await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
      await page.waitForFunction((name) => document.querySelector("#notice").textContent === `${name} is in the editor.`, name);
      assert.equal((await editor(page).innerText()).trimEnd(), text.trimEnd());
      assert.equal(await page.locator("#replay").isVisible(), false);
    }
  });
});

/** Starts recording the page's long tasks. */
const watch = (page) =>
  page.evaluate(() => {
    window.long = [];
    new PerformanceObserver((list) => window.long.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
  });

test("the page stays responsive while it replays 20 MB", async (t) => {
  const file = history(20e6);
  const folder = mkdtempSync(join(tmpdir(), "playground-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "jobs.ndjson");
  writeFileSync(path, file);
  await onPage(async (page) => {
    await watch(page);
    const began = Date.now();
    // Pass a path, because Playwright decodes a buffer in the page, which is a long task.
    await page.setInputFiles("#file", path);
    await page.waitForSelector("#replay-progress:not([hidden])");
    await page.waitForSelector(".totals", { timeout: 120_000 });
    const took = Date.now() - began;
    const longest = await page.evaluate(() => Math.max(0, ...window.long));
    t.diagnostic(`${(file.length / 1e6).toFixed(1)} MB in ${took} ms, longest task of the page ${longest.toFixed(0)} ms`);
    assert.ok(longest <= 200, `${longest}`);
    const sums = await page.locator(".totals dd").allInnerTexts();
    const count = file.toString("latin1").split("broken-").length - 1;
    assert.equal(Number(sums[1].replace(",", "")), count / 4);
    assert.match(await page.locator("#replay table").innerText(), /job-status\/failed-decreased/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#replay").isVisible(), false);
  });
});

test("dropped files are replayed: compressed, malformed, empty, or with invalid settings", async () => {
  await onPage(async (page) => {
    const drop = async (bytes, name, expected) => {
      const transfer = await page.evaluateHandle(
        ([base64, name]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
          return transfer;
        },
        [bytes.toString("base64"), name],
      );
      await page.dispatchEvent("body", "dragover", { dataTransfer: transfer });
      await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
      // The progress bar is also hidden before the start, so wait for the final text.
      await page.locator("#replay", { hasText: expected }).waitFor();
    };
    await drop(gzipSync(history(50_000)), "jobs.ndjson.gz", /cannot decrease the failed counter/);
    await drop(Buffer.from('{"type":"ADD'), "cut.ndjson", /not JSON/);
    await drop(Buffer.alloc(0), "empty", /No findings in this history/);
    await drop(gzipSync(history(500_000)).subarray(0, 900), "cut.gz", /cut\.gz/);
    await page.click("#replay-close");
    await page.getByRole("tab", { name: "Settings" }).click();
    await paste(page, "role: manager\n");
    await drop(history(1000), "jobs.ndjson", /invalid settings: role: Unsupported value: "manager"/);
  });
});

test("a step without a finding is listed as not evaluated, with the reason", async () => {
  const replicatedJobs = Array(1001).fill({ name: "a", template: { spec: { managedBy: "kubernetes.io/job-controller" } } });
  const jobSet = { apiVersion: "jobset.x-k8s.io/v1alpha2", kind: "JobSet", metadata: { name: "a", namespace: "default", uid: "1" }, spec: { replicatedJobs } };
  const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", namespace: "default", uid: "2", resourceVersion: "1" }, spec: {} };
  const lines = [["ADDED", jobSet], ["MODIFIED", job]].map(([type, object]) => `${JSON.stringify({ type, object })}\n`);
  await onPage(async (page) => {
    await page.getByRole("tab", { name: "Settings" }).click();
    await paste(page, "rules: {managed-by/template: \"off\"}\n");
    await page.setInputFiles("#file", { name: "jobs.ndjson", mimeType: "text/plain", buffer: Buffer.from(lines.join("")) });
    const steps = page.locator(".steps li");
    await steps.nth(1).waitFor();
    assert.deepEqual(await steps.locator(".badge").allInnerTexts(), ["not evaluated", "not evaluated"]);
    const messages = await steps.locator(".message").allInnerTexts();
    assert.match(messages[0], /^spec\.replicatedJobs/);
    assert.equal(messages[1], "the first record is an update: the previous state is missing");
  });
});

// Checks the writes of a client of @kubernetes/client-node against an API server of the test, which stores what it gets.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { BatchV1Api, CustomObjectsApi, KubeConfig, KubernetesObjectApi, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import { WriteChecker } from "managed-by/client-node";
import { root } from "./support.mjs";

let server;
let url;
/** Stored objects by path, and the writes that the server got. */
const objects = new Map();
const sent = [];

/** Answers of the next requests, by method. */
const answers = new Map();

before(async () => {
  server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) {
      parts.push(part);
    }
    const text = Buffer.concat(parts).toString();
    const respond = (code, object) => response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(object));
    const { pathname } = new URL(request.url, url);
    const key = pathname.replace(/\/status$/, "");
    const answer = answers.get(request.method);
    if (request.method !== "GET") {
      sent.push(`${request.method} ${pathname}`);
    }
    if (answer !== undefined) {
      answers.delete(request.method);
      return respond(...answer);
    }
    if (request.method === "GET") {
      const stored = objects.get(key);
      return stored === undefined ? respond(404, { kind: "Status", code: 404 }) : respond(200, stored);
    }
    const object = JSON.parse(text);
    if (request.method === "POST") {
      objects.set(`${key}/${object.metadata.name}`, object);
      return respond(201, object);
    }
    const stored = objects.get(key);
    objects.set(key, { ...stored, status: object.status ?? stored.status });
    return respond(200, objects.get(key));
  });
  await new Promise((done) => server.listen(0, "localhost", done));
  url = `http://localhost:${server.address().port}/proxy`;
});
after(() => server.close());

const PATH = "/proxy/apis/batch/v1/namespaces/default/jobs/pi";
const DECREASED = 'status.failed: Invalid value: 1: cannot decrease the failed counter';
const job = (status, managedBy = "acme.io/runner") => ({
  apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", namespace: "default", uid: "1", resourceVersion: "7" }, spec: { managedBy, template: {} }, status,
});
const RUNNING = { startTime: "2026-01-01T09:00:00Z", active: 1, failed: 2 };

/** Stores a Job, and returns a checker and a configuration whose clients are checked. */
function start(options, stored = job(RUNNING)) {
  objects.clear();
  sent.length = 0;
  if (stored !== undefined) {
    objects.set(PATH, stored);
  }
  const checker = new WriteChecker(options);
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "test", server: url, skipTLSVerify: true }, { name: "test", token: "secret" });
  return { checker, config: checker.wrap(config), jobs: config.makeApiClient(BatchV1Api) };
}

const about = { name: "pi", namespace: "default" };
const headers = (strategy) => setHeaderOptions("Content-Type", strategy);

test("a valid create and a valid status are sent and evaluated", async () => {
  const { checker, jobs } = start({}, undefined);
  assert.throws(() => checker.assertConforms(), /no write was evaluated/);
  start({ allowNoWrites: true }, undefined).checker.assertConforms();
  await jobs.createNamespacedJob({ namespace: "default", body: job() });
  await jobs.replaceNamespacedJobStatus({ ...about, body: job(RUNNING) });
  await jobs.patchNamespacedJobStatus({ ...about, body: { status: { failed: 3 } } }, headers(PatchStrategy.MergePatch));
  await jobs.listNamespacedJob({ namespace: "default" }).catch(() => undefined);
  assert.deepEqual(sent, [`POST ${PATH.replace("/pi", "")}`, `PUT ${PATH}/status`, `PATCH ${PATH}/status`]);
  assert.equal(checker.evaluatedCount, 3);
  checker.assertConforms();
  // A middleware may replace the request.
  const { middleware } = setHeaderOptions("X-Test", "1");
  const copy = (request) => Object.assign(Object.create(Object.getPrototypeOf(request)), request);
  const copying = middleware.map((next) => ({ pre: (request) => next.pre(copy(request)), post: (response) => next.post(response) }));
  await jobs.replaceNamespacedJobStatus({ ...about, body: job({ ...RUNNING, failed: 3 }) }, { middleware: copying, middlewareMergeStrategy: "append" });
  checker.assertConforms();
  const late = jobs.replaceNamespacedJobStatus({ ...about, body: job({ ...RUNNING, failed: 1 }) }).catch((error) => error);
  assert.throws(() => checker.assertConforms(), { message: `writes that have not ended (await them):\nPUT ${PATH}/status` });
  assert.equal((await late).code, 422);
  assert.throws(() => checker.assertConforms(), /^Error: denied writes:/);
});

test("a write that a release denies is not sent, and the client gets kube-apiserver's error", async () => {
  const message = `Job.batch "pi" is invalid: ${DECREASED}`;
  const writes = {
    replace: ({ jobs }) => jobs.replaceNamespacedJobStatus({ ...about, body: job({ ...RUNNING, failed: 1 }) }),
    "merge patch": ({ jobs }) => jobs.patchNamespacedJobStatus({ ...about, body: { status: { failed: 1 } } }, headers(PatchStrategy.MergePatch)),
    "custom object": ({ config }) => config.makeApiClient(CustomObjectsApi).replaceNamespacedCustomObjectStatus({ ...about, group: "batch", version: "v1", plural: "jobs", body: job({ ...RUNNING, failed: 1 }) }),
  };
  for (const [name, write] of Object.entries(writes)) {
    const context = start();
    await assert.rejects(write(context), (error) => {
      const { code, body } = error;
      const status = typeof body === "string" ? JSON.parse(body) : body;
      assert.deepEqual([code, status.reason, status.message, status.details], [422, "Invalid", message, { group: "batch", kind: "Job", name: "pi" }], name);
      return true;
    });
    const { checker } = context;
    assert.deepEqual([sent, checker.failures.length, checker.evaluatedCount], [[], 1, 1], name);
    assert.match(checker.failures[0], new RegExp(`^(PUT|PATCH) ${PATH}/status: ${DECREASED} \\(kube-apiserver 1\\.32 to 1\\.37\\) \\[job-status/failed-decreased\\]$`), name);
    assert.throws(() => checker.assertConforms(), /^Error: denied writes:\n/);
  }
});

test("statuses that the API server accepts and clients misread are warnings", async () => {
  const { checker, config } = start();
  const status = { ...RUNNING, suceeded: 1, conditions: [{ type: "Suspended", status: "true" }] };
  await config.makeApiClient(CustomObjectsApi).replaceNamespacedCustomObjectStatus({ ...about, group: "batch", version: "v1", plural: "jobs", body: job(status) });
  checker.assertConforms();
  const rules = checker.warnings.map((warning) => warning.match(/\[([^[]*)\]$/)[1]);
  assert.deepEqual(rules, ["job-conventions/condition-status", "job-conventions/unknown-field"], checker.warnings.join("\n"));
});

test("creates, updates and the object API are checked", async () => {
  const { checker, jobs, config } = start();
  await assert.rejects(jobs.createNamespacedJob({ namespace: "default", body: job(undefined, "typo") }), /spec\.managedBy: Invalid value: .*typo/);
  await assert.rejects(jobs.replaceNamespacedJob({ ...about, body: job(RUNNING, "acme.io/other") }), /spec\.managedBy: Invalid value: .*acme\.io\/other.*: field is immutable/);
  // The API server ignores the status in a write of the main resource.
  await jobs.replaceNamespacedJob({ ...about, body: job({ failed: 1 }) });
  answers.set("GET", [200, { kind: "APIResourceList", groupVersion: "batch/v1", resources: [{ name: "jobs", kind: "Job", namespaced: true }] }]);
  await assert.rejects(KubernetesObjectApi.makeApiClient(config).create(job(undefined, "typo")), /spec\.managedBy: Invalid value/);
  assert.deepEqual([sent, checker.failures.length, checker.evaluatedCount], [[`PUT ${PATH}`], 3, 4]);
  assert.deepEqual(checker.warnings, [`PUT ${PATH}: the changed status is ignored: write the status`]);
  assert.throws(() => checker.assertNoWarnings(), /^Error: warnings:\nPUT .* is ignored/);
});

test("a write of the object API that is not awaited does not escape, whether or not the resource is known", async () => {
  const { checker, config } = start();
  answers.set("GET", [200, { kind: "APIResourceList", groupVersion: "batch/v1", resources: [{ name: "jobs", kind: "Job", namespaced: true }] }]);
  const api = KubernetesObjectApi.makeApiClient(config);
  for (const failures of [1, 2]) {
    const late = api.create(job(undefined, "typo")).catch((error) => error);
    checker.failures.length = 0;
    assert.throws(() => checker.assertConforms(), { message: "writes that have not ended (await them):\ncreate Job pi" });
    assert.equal((await late).code, 422);
    assert.equal(checker.evaluatedCount, failures);
  }
  assert.throws(() => checker.assertConforms(), /^Error: denied writes:/);
});

test("patches that only the API server can compute are evaluated in its response", async () => {
  for (const strategy of [PatchStrategy.JsonPatch, PatchStrategy.StrategicMergePatch, PatchStrategy.ServerSideApply]) {
    const { checker, jobs } = start();
    answers.set("PATCH", [200, job({ ...RUNNING, failed: 1 })]);
    const body = { spec: { managedBy: "acme.io/other" } };
    const write = () => jobs.patchNamespacedJobStatus({ ...about, body, fieldManager: "test" }, headers(strategy));
    await assert.rejects(write(), { code: 422 });
    assert.deepEqual([sent.length, checker.failures.length, checker.evaluatedCount], [1, 1, 1], strategy);
    assert.deepEqual(checker.warnings, [`PATCH ${PATH}/status: the changed spec is ignored: write the object`], strategy);
    // The reconciler may swallow this error.
    answers.set("PATCH", [422, { kind: "Status", code: 422, message: "no" }]);
    await assert.rejects(write(), { code: 422 });
    assert.equal(checker.failures[1], `PATCH ${PATH}/status: no`, strategy);
    answers.set("PATCH", [200, { kind: "PartialObjectMetadata" }]);
    await write();
    assert.deepEqual(checker.notEvaluated, [`PATCH ${PATH}/status: the response does not contain the object`], strategy);
  }
});

test("writes that could not be evaluated are reported", async () => {
  const { checker, config, jobs } = start();
  answers.set("GET", [403, { kind: "Status", code: 403 }]);
  await jobs.replaceNamespacedJobStatus({ ...about, body: job({ ...RUNNING, failed: 1 }) });
  assert.deepEqual(checker.notEvaluated, [`PUT ${PATH}/status: failed to get the stored object: 403`]);
  assert.throws(() => checker.assertConforms(), /^Error: writes that were not evaluated:\nPUT /);
  answers.set("GET", [404, { kind: "Status", code: 404 }]).set("PATCH", [200, job({ active: -1 })]);
  await jobs.patchNamespacedJobStatus({ ...about, body: {}, fieldManager: "test" }, headers(PatchStrategy.ServerSideApply));
  assert.equal(checker.notEvaluated[1], `PATCH ${PATH}/status: the stored object was not found`);
  answers.set("GET", [200, { ...job(), apiVersion: "batch/v9" }]).set("PUT", [200, job()]);
  await config.makeApiClient(CustomObjectsApi).replaceNamespacedCustomObjectStatus({ ...about, group: "batch", version: "v9", plural: "jobs", body: job(RUNNING) });
  assert.match(checker.notEvaluated[2], /batch\/v9.*: not checked, unsupported version of this kind$/);
  assert.deepEqual([checker.evaluatedCount, checker.failures], [0, []]);
});

test("a conflict and a missing object are the API server's answers", async () => {
  const { checker, jobs } = start();
  const stale = job({ ...RUNNING, failed: 1 });
  for (const field of ["uid", "name", "resourceVersion"]) {
    answers.set("PUT", [409, { kind: "Status", code: 409 }]);
    await assert.rejects(jobs.replaceNamespacedJobStatus({ ...about, body: { ...stale, metadata: { ...stale.metadata, [field]: "6" } } }), { code: 409 });
  }
  assert.throws(() => checker.assertConforms(), /no write was evaluated: .* or the API server rejected its writes$/);
  stale.metadata.resourceVersion = "6";
  // A server that accepts it anyway.
  answers.set("PUT", [200, stale]);
  await assert.rejects(jobs.replaceNamespacedJobStatus({ ...about, body: stale }), { code: 422 });
  answers.set("PUT", [404, { kind: "Status", code: 404 }]);
  await assert.rejects(jobs.replaceNamespacedJobStatus({ name: "other", namespace: "default", body: job(RUNNING) }), { code: 404 });
  assert.deepEqual([checker.failures.length, checker.notEvaluated, checker.evaluatedCount], [1, [], 1]);
  // The API server's own validation of a status.
  answers.set("PUT", [422, { kind: "Status", code: 422, message: "status.x: Invalid value" }]);
  await assert.rejects(jobs.replaceNamespacedJobStatus({ ...about, body: job(RUNNING) }), { code: 422 });
  assert.equal(checker.failures[1], `PUT ${PATH}/status: status.x: Invalid value`);
  await jobs.replaceNamespacedJobStatus({ ...about, body: { ...job(RUNNING), metadata: { name: "pi" } } });
  assert.deepEqual(checker.warnings, [`PUT ${PATH}/status: no resourceVersion: the write overwrites changes since the object was read`]);
});

test("releases, the controller, settings and the user are options", async () => {
  const tooReady = job({ ...RUNNING, ready: 2 });
  const old = start({ releases: "1.30" });
  await old.jobs.replaceNamespacedJobStatus({ ...about, body: tooReady });
  old.checker.assertConforms();
  const some = start({ releases: "1.30-1.31" });
  await assert.rejects(some.jobs.replaceNamespacedJobStatus({ ...about, body: tooReady }), { code: 422 });
  assert.match(some.checker.failures[0], / \(kube-apiserver 1\.31\) \[job-status\/ready-exceeds-active\]$/);
  for (const [controller, failures] of [["acme.io/runner", []], ["acme.io/other", [`PUT ${PATH}/status: the object names the controller "acme.io/runner", not "acme.io/other"`]]]) {
    const { checker, jobs } = start({ controller });
    await jobs.replaceNamespacedJobStatus({ ...about, body: job({ ...RUNNING, failed: 3 }) });
    assert.deepEqual(checker.failures, failures);
  }
  const settings = { controllers: { "acme.io/runner": { status_writers: ["runner"] } } };
  for (const [username, code] of [["ana", 403], ["runner", undefined]]) {
    const { jobs } = start({ settings, username });
    const result = await jobs.replaceNamespacedJobStatus({ ...about, body: job({ ...RUNNING, failed: 3 }) }).catch((error) => error);
    assert.equal(result.code, code, username);
  }
  const declared = { custom_kinds: [{ group: "argoproj.io", kind: "Workflow", plural: "workflows" }] };
  const { checker, config } = start({ settings: declared });
  const workflow = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow", metadata: { name: "s", namespace: "default" }, spec: { managedBy: "acme.io/a" } };
  const custom = { group: "argoproj.io", version: "v1alpha1", namespace: "default", plural: "workflows" };
  const workflows = config.makeApiClient(CustomObjectsApi);
  await workflows.createNamespacedCustomObject({ ...custom, body: workflow });
  await assert.rejects(workflows.replaceNamespacedCustomObject({ ...custom, name: "s", body: { ...workflow, spec: { managedBy: "acme.io/b" } } }), { code: 422 });
  assert.deepEqual([checker.evaluatedCount, checker.notEvaluated], [2, []]);
  assert.throws(() => new WriteChecker({ releases: "1.29" }), { code: "ERR_INVALID_ARGUMENT", path: "options.releases" });
  assert.throws(() => new WriteChecker({ settings: { role: "manager" } }), { code: "ERR_INVALID_SETTINGS" });
});

test("the documented test fails with the missing condition", async (t) => {
  start({}, job(RUNNING));
  const folder = mkdtempSync(join(tmpdir(), "managed-by-client-"));
  t.after(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, JSON.stringify({ clusters: [{ name: "c", cluster: { server: url, "insecure-skip-tls-verify": true } }], users: [{ name: "u", user: {} }], contexts: [{ name: "x", context: { cluster: "c", user: "u" } }], "current-context": "x" }));
  const [, code] = /### Check every write of a client\n.*?```js\n(.*?)```/s.exec(readFileSync(join(root, "docs/reference/javascript.md"), "utf8"));
  const file = join(folder, "writes.test.mjs");
  writeFileSync(file, code);
  // Otherwise the test runner does not run tests inside a test.
  const env = { ...process.env, KUBECONFIG: kubeconfig, NODE_TEST_CONTEXT: undefined };
  const { code: status, stdout } = await new Promise((done) => execFile(process.execPath, ["--test", file], { env }, (error, stdout) => done({ code: error?.code, stdout })));
  assert.equal(status, 1);
  assert.match(stdout, /denied writes:\n.*PUT .*: status\.conditions: Invalid value: .*cannot set Complete=True condition without the SuccessCriteriaMet=true condition/s);
  assert.deepEqual(sent, []);
});

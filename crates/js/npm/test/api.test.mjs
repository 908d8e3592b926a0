// Arguments and results of the functions, and errors for invalid input.
import assert from "node:assert/strict";
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { diff, explain, kinds, lint, ManagedByError, releaseRange, releases, releasesWithManagedByOnByDefault, replay, review, rules, settingsSchema, validateSettings } from "managed-by";
import { CHANGED, root, thrown, TYPO } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "managed-by-api-"));
after(() => rmSync(folder, { recursive: true }));

test("review returns a plain object", () => {
  const verdict = review(CHANGED);
  assert.deepEqual(verdict, {
    allowed: false,
    code: 422,
    message: 'Job.batch "pi" is invalid: spec.managedBy: Invalid value: "b.io/y": field is immutable',
    warnings: ["managed-by-policy: see rule managed-by/immutable"],
    auditAnnotations: { mode: "Delegated", controller: '"b.io/y"', denied: "managed-by/immutable spec.managedBy" },
    findings: [
      {
        rule: "managed-by/immutable",
        enforcement: "deny",
        path: "spec.managedBy",
        type: "Invalid value",
        message: 'spec.managedBy: Invalid value: "b.io/y": field is immutable',
        detail: "field is immutable",
        upstream: true,
      },
    ],
    unchecked: [],
  });
  const other = { ...CHANGED, kind: { group: "batch", version: "v2", kind: "Job" } };
  assert.deepEqual(review(other).unchecked, [{ path: "", reason: "unsupported-version", message: "not checked, unsupported version of this kind" }]);
});

test("requests as text keep number formats and duplicate keys", () => {
  const request = JSON.stringify({ ...CHANGED, operation: "CREATE", object: { metadata: { name: "pi" }, spec: {}, status: { active: 1 } } });
  assert.equal(review(request).allowed, true);
  for (const [active, expected] of [['"active":1.0', /request\.object\.status\.active/], ['"active":1,"active":2', /duplicate field/]]) {
    const text = request.replace('"active":1', active);
    const { code, message } = review(text);
    assert.equal(code, 400, active);
    assert.match(message, expected);
    assert.equal(review(JSON.parse(text)).allowed, true, active);
  }
});

test("malformed requests are denied with code 400", () => {
  for (const request of ["", "nope", "[]", "null", "{}", "{", '{"request":{}}', '"\u0000"', "\ud800", '{"kind":1}', "[".repeat(100_000)]) {
    const { allowed, code, message } = review(request);
    assert.deepEqual({ allowed, code }, { allowed: false, code: 400 }, request.slice(0, 20));
    assert.match(message, /^malformed admission request: /);
  }
});

test("a malformed object of a declared kind is denied at its position, like one of a built-in kind", () => {
  const settings = { custom_kinds: [{ group: "acme.io", kind: "Render", plural: "renders" }] };
  const message = "object.spec.managedBy: expected a string, got a number";
  for (const head of ["apiVersion: acme.io/v1\nkind: Render", "apiVersion: batch/v1\nkind: Job"]) {
    for (const releases of [undefined, "1.36"]) {
      const { objects, errors, unsupported, summary } = lint(`${head}\nmetadata: {name: a}\nspec: {managedBy: 1}\n`, settings, { releases });
      assert.deepEqual([objects.map(({ verdict }) => [verdict.code, verdict.message]), unsupported], [[[400, message]], []], head);
      assert.deepEqual(errors.map(({ message, position: { line, column } }) => [message, line, column]), [[message, 4, 19]], head);
      assert.deepEqual([summary.ok, summary.denied], [false, 1], head);
    }
  }
});

test("invalid arguments are rejected by name", () => {
  const circular = {};
  circular.self = circular;
  const cases = [
    [() => review(undefined), "request"],
    [() => review(null), "request"],
    [() => review(5), "request"],
    [() => review(() => ({})), "request"],
    [() => review(circular), "request"],
    [() => review({ big: 1n }), "request"],
    [() => review(CHANGED, null), "settings"],
    [() => review(CHANGED, true), "settings"],
    [() => lint(undefined), "yamlOrJson"],
    [() => lint("", {}, null), "options"],
    [() => lint("", {}, { groups: "x" }), "options.groups"],
    [() => lint("", {}, { groups: [1] }), "options.groups"],
    [() => lint("", {}, { grups: [] }), "options.grups"],
    [() => lint("", {}, { subResource: "status" }), "options.subResource"],
    [() => lint("", {}, { username: 1 }), "options.username"],
    [() => lint("", {}, { releases: "some" }), "options.releases"],
    [() => lint("", {}, { releases: "" }), "options.releases"],
    [() => lint("", {}, { releases: ["1.36"] }), "options.releases"],
    [() => diff("", "", {}, { releases: "1.34-1.33" }), "options.releases"],
    [() => releaseRange("1.36.0"), "release"],
    [() => diff("", "", {}, { subResource: "scale" }), "options.subResource"],
    [() => diff(1, ""), "old"],
    [() => validateSettings(undefined), "settings"],
    // JSON would turn most of these into an empty object, which is valid.
    [() => lint(Buffer.from(TYPO)), "yamlOrJson"],
    [() => lint(new Uint8Array(1).buffer), "yamlOrJson"],
    [() => lint(Promise.resolve(TYPO)), "yamlOrJson"],
    [() => lint(new Map([["kind", "Job"]])), "yamlOrJson"],
    [() => lint(new Set()), "yamlOrJson"],
    [() => lint(new Date(0)), "yamlOrJson"],
    [() => lint(new Blob([TYPO])), "yamlOrJson"],
    [() => lint(createReadStream(join(root, "README.md")).destroy()), "yamlOrJson"],
    [() => lint(new ReadableStream()), "yamlOrJson"],
    [() => diff(TYPO, Promise.resolve(TYPO)), "yamlOrJson"],
    [() => diff(new Map(), TYPO), "old"],
    [() => review(Promise.resolve(CHANGED)), "request"],
    [() => review(CHANGED, new Map()), "settings"],
    [() => replay(5), "lines"],
    [() => replay(null), "lines"],
    [() => replay(undefined), "lines"],
    [() => replay({}), "lines"],
    [() => replay(Promise.resolve([])), "lines"],
  ];
  for (const [call, path] of cases) {
    const error = thrown(call);
    assert.ok(error instanceof ManagedByError && error instanceof Error, String(call));
    assert.equal(error.code, "ERR_INVALID_ARGUMENT", String(call));
    assert.equal(error.path, path, String(call));
    assert.ok(error.message.startsWith(`${path}: `), error.message);
  }
  // The same mistake gets the same explanation.
  for (const call of [() => review(Promise.resolve(CHANGED)), () => lint(Promise.resolve(TYPO)), () => replay(Promise.resolve([]))]) {
    assert.match(thrown(call).message, /, got a promise; await it first$/);
  }
});

test("every function throws all problems of invalid settings", async () => {
  const bad = { kubernetes_version: "1.99", rules: { "managed-by/formt": "deny" } };
  const calls = [() => review(CHANGED, bad), () => lint(TYPO, bad), () => diff(TYPO, TYPO, bad), () => review(CHANGED, JSON.stringify(bad))];
  for (const call of calls) {
    const error = thrown(call);
    assert.equal(error.code, "ERR_INVALID_SETTINGS");
    assert.equal(error.path, "settings.kubernetes_version");
    assert.deepEqual(error.problems.map((problem) => problem.path), ["kubernetes_version", "rules[managed-by/formt]"]);
    assert.match(error.problems[1].message, /did you mean "managed-by\/format"\?/);
    assert.equal(error.problems[1].suggestion, "managed-by/format");
  }
  await assert.rejects(replay([], bad).next(), { name: "ManagedByError", code: "ERR_INVALID_SETTINGS" });
  await assert.rejects(replay([], {}, { relases: "all" }).next(), { code: "ERR_INVALID_ARGUMENT", path: "options.relases" });
});

test("validateSettings returns PolicyServer's result, with positions", () => {
  assert.deepEqual(validateSettings({}), { valid: true, problems: [] });
  assert.deepEqual(validateSettings(""), { valid: true, problems: [] });
  const text = "role: manager\nrules:\n  managed-by/format: maybe\n";
  const { valid, message, problems } = validateSettings(text);
  assert.equal(valid, false);
  assert.match(message, /^invalid settings: 2 problems:\n- /);
  assert.deepEqual(problems.map(({ position }) => text.slice(position.from, position.to)), ["manager", "maybe"]);
  assert.ok(problems.every((problem) => !("suggestion" in problem)));
  const typos = "role: managment\nruls: {}\n";
  const suggested = validateSettings(typos).problems.map(({ position, suggestion }) => [typos.slice(position.from, position.to), suggestion]);
  assert.deepEqual(suggested, [["managment", "management"], ["ruls", "rules"]]);
  for (const [broken, expected] of [["role: [", /line 1/], ["- 1\n- 2", /settings/], ["{}\n---\n{}", /2 policies/], ["\u0000", /./]]) {
    const verdict = validateSettings(broken);
    assert.equal(verdict.valid, false, broken);
    assert.match(verdict.message, expected, broken);
  }
  const manifest = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: x}\nspec:\n  settings:\n    role: manager\n";
  const [problem] = validateSettings(manifest).problems;
  assert.equal(manifest.slice(problem.position.from, problem.position.to), "manager");
});

test("lint returns the position of each finding in UTF-16 code units", () => {
  // A character outside the Basic Multilingual Plane is two UTF-16 code units.
  const text = `# \u{1f600} ä\n${TYPO}`;
  const { objects, errors, unsupported } = lint(text);
  assert.deepEqual({ errors, unsupported }, { errors: [], unsupported: [] });
  const [{ request, verdict, positions }] = objects;
  assert.equal(request.object.spec.managedBy, "kubernetes.io/job-controler");
  const [{ rule, path, suggestion }] = verdict.findings;
  const position = positions[path];
  assert.equal(rule, "managed-by/reserved-domain");
  assert.equal(suggestion, "kubernetes.io/job-controller");
  assert.equal(text.slice(position.from, position.to), "kubernetes.io/job-controler");
  assert.deepEqual([position.line, position.column, position.exact], [7, 14, true]);
  assert.equal(text.slice(objects[0].position.from), TYPO);
});

test("lint accepts multiple documents and lists, and reports malformed ones", () => {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }, { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec: { managedBy: "x" } }] });
  const { objects, errors, unsupported } = lint(`${TYPO}---\na: [\n---\nkind: 5\n---\n${list}\n---\n${TYPO}`);
  assert.deepEqual(objects.map(({ request }) => request.name), ["pi", "j", "pi"]);
  assert.deepEqual(unsupported, ["Pod"]);
  assert.equal(errors.length, 2);
  assert.equal(lint("").objects.length, 0);
  assert.equal(lint({ apiVersion: "batch/v1", kind: "Job", metadata: {}, spec: { managedBy: "" } }).objects[0].verdict.code, 422);
  const wrong = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec:\n  managedBy: 5\n";
  const malformed = lint(wrong);
  assert.equal(malformed.objects[0].verdict.code, 400);
  assert.equal(wrong.slice(malformed.errors[0].position.from, malformed.errors[0].position.to), "5");
});

test("options set the user and the namespace", () => {
  const settings = { role: "management", exempt: { groups: ["admins"] } };
  const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec: {}\n";
  const { request, verdict } = lint(job, settings, { namespace: "team-a", username: 'a "b"', groups: ["x", "y\n"] }).objects[0];
  assert.deepEqual([request.namespace, request.userInfo, verdict.code], ["team-a", { username: 'a "b"', groups: ["x", "y\n"] }, 403]);
  assert.equal(lint(job, settings, { groups: ["x", "admins"] }).objects[0].verdict.allowed, true);
});

test("releases accepts the text of the command line", async () => {
  const job = (ready) => ({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi" }, spec: { managedBy: "a.io/x" }, status: { active: 1, ready } });
  // Denied from 1.31 on.
  const { allowed, releaseVerdicts, findings } = diff(job(0), job(2), {}, { subResource: "status", releases: "1.30-1.31,1.36.3" }).objects[0].verdict;
  assert.deepEqual([allowed, releaseVerdicts.map((verdict) => verdict.releases), findings[0].releaseRange], [false, [["1.30"], ["1.31", "1.36"]], "1.31, 1.36 from 1.36.2"]);
  assert.match(lint(TYPO, {}, { releases: "1.36.99" }).notes.join(), /^1\.36\.99: unknown patch release, evaluated as 1\.36\.\d+$/);
  const { message } = thrown(() => lint("", {}, { releases: "1.29" }));
  assert.match(message, /^options\.releases: .*1\.37.*, a range \(1\.31-1\.33 or 1\.31\+\), a list \(1\.33\.4,1\.36\.3\), or all$/);
  await assert.rejects(all(replay(HISTORY, {}, { releases: "1.29" })), { code: "ERR_INVALID_ARGUMENT", path: "options.releases" });
  const { tally } = await all(replay(HISTORY, {}, { releases: "1.36+,1.36.99" }));
  assert.deepEqual([tally.rows[0].releases, tally.notes.length], [["1.36.1", "1.36", "1.37"], 1]);
  assert.deepEqual(releasesWithManagedByOnByDefault(), releases().filter((release) => !["1.30", "1.31"].includes(release)));
  assert.deepEqual(["1.33.5", "1.37"].map(releaseRange), ["1.33.3 to 1.33.5", "1.37"]);
});

test("replay returns rejected writes with the response and the verdict on the sent object", async () => {
  const [{ object: created }, { object: running }, { object: decreased }] = HISTORY;
  const write = (code, verb, requestObject) => ({
    kind: "Event", apiVersion: "audit.k8s.io/v1", level: "RequestResponse", stage: "ResponseComplete", verb, user: { username: "runner" }, requestObject,
    objectRef: { resource: "jobs", namespace: "default", name: "pi", apiGroup: "batch", apiVersion: "v1", ...(verb === "create" ? {} : { subresource: "status" }) },
    responseStatus: code < 300 ? { code } : { code, message: "no" }, responseObject: code < 300 ? requestObject : { kind: "Status" },
  });
  const sent = { ...decreased, metadata: { ...decreased.metadata, resourceVersion: "2" } };
  const { steps, tally } = await all(replay([write(201, "create", created), write(200, "update", running), write(422, "update", sent), write(409, "update", sent), write(403, "patch", {})]));
  assert.deepEqual(steps.map(({ line, rejection, username, verdict, message }) => [line, rejection, username, verdict?.code, message?.slice(0, 15)]), [
    [3, { code: 422, message: "no" }, "runner", 422, undefined],
    [5, { code: 403, message: "no" }, "runner", undefined, "the audit event"],
  ]);
  const { rejected, transientRejections, evaluated, denied } = tally;
  assert.deepEqual({ rejected, transientRejections, evaluated, denied }, { rejected: 3, transientRejections: 1, evaluated: 2, denied: 0 });
});

test("diff pairs objects by name, and reports unpaired objects", () => {
  const job = (name, managedBy) => `apiVersion: batch/v1\nkind: Job\nmetadata: {name: ${name}}\nspec: {managedBy: ${managedBy}}\n`;
  const { objects, errors } = diff(`${job("a", "a.io/x")}---\n${job("b", "a.io/x")}`, `${job("b", "a.io/y")}---\n${job("c", "a.io/x")}`);
  assert.deepEqual(objects.map(({ request, verdict }) => [request.name, verdict.allowed]), [["b", false]]);
  assert.deepEqual(errors.map(({ text, message }) => [text, message]), [["new", "the old text has no Job with this namespace and name"]]);
  // In another order, and more than one of the same name.
  const [first, second] = [job("a", "a.io/1"), job("a", "a.io/2")];
  const pairs = diff([job("b", "a.io/b"), first, second].join("---\n"), [first, second, job("b", "a.io/b")].join("---\n"));
  assert.deepEqual(pairs.objects.map(({ request, verdict }) => [request.name, verdict.allowed]), [["a", true], ["a", true], ["b", true]]);
});

async function all(history) {
  const steps = [];
  for (let next = await history.next(); ; next = await history.next()) {
    if (next.done) {
      return { steps, tally: next.value };
    }
    steps.push(next.value);
  }
}

const event = (type, version, spec, status) => ({ type, object: { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", namespace: "default", uid: "1", resourceVersion: String(version) }, spec, status } });
const HISTORY = [event("ADDED", 1, { managedBy: "a.io/x" }), event("MODIFIED", 2, { managedBy: "a.io/x" }, { failed: 2 }), event("MODIFIED", 3, { managedBy: "a.io/x" }, { failed: 1 }), event("DELETED", 4, {}, {})];

test("replay accepts chunks, lines and objects", async () => {
  const text = HISTORY.map((one) => JSON.stringify(one)).join("\n");
  const bytes = new TextEncoder().encode(`${text}\n`);
  const expected = await all(replay([bytes]));
  for (const parts of [text.split("\n"), HISTORY, [text]]) {
    assert.deepEqual(await all(replay(parts)), expected);
  }
  const [step] = expected.steps;
  assert.equal(expected.steps.length, 1);
  assert.deepEqual([step.line, step.object.name, step.operation, step.subResource, step.verdict.code], [3, "pi", "UPDATE", "status", 422]);
  const { rows, ...counts } = expected.tally;
  assert.deepEqual([counts.documents, counts.evaluated, counts.denied, counts.live], [4, 3, 1, 0]);
  assert.deepEqual(rows.map(({ rule, count, kind }) => [rule, count, kind]), [["job-status/failed-decreased", 1, "Job.batch"]]);
});

test("lint, diff and replay return a summary", async () => {
  const job = (managedBy) => `apiVersion: batch/v1\nkind: Job\nmetadata: {name: pi}\nspec: {managedBy: ${managedBy}}\n`;
  const fine = job("a.io/x");
  assert.deepEqual(lint(fine).summary, { ok: true, evaluated: 1, denied: 0, errors: 0 });
  assert.deepEqual(lint(`${job("x")}---\n${fine}---\na: [\n`).summary, { ok: false, evaluated: 2, denied: 1, errors: 1 });
  // An empty input is not ok.
  for (const text of ["", "apiVersion: batch/v1\nkind: job\nmetadata: {name: pi}\n"]) {
    assert.deepEqual(lint(text).summary, { ok: false, evaluated: 0, denied: 0, errors: 0 });
  }
  assert.deepEqual(lint("- 1").summary.ok, false);
  assert.deepEqual(diff(fine, job("a.io/y")).summary, { ok: false, evaluated: 1, denied: 1, errors: 0 });
  // Denied by 1.31 and later, and the settings choose 1.30.
  const running = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi" }, spec: { managedBy: "a.io/x" }, status: { active: 1 } };
  const tooReady = { ...running, status: { active: 1, ready: 2 } };
  const summaryOf = (options) => diff(running, tooReady, { kubernetes_version: "1.30" }, { subResource: "status", ...options }).summary;
  assert.deepEqual([summaryOf({}).ok, summaryOf({ releases: "all" })], [true, { ok: false, evaluated: 1, denied: 1, errors: 0 }]);
  assert.deepEqual((await all(replay(HISTORY))).tally.summary, { ok: false, evaluated: 3, denied: 1, errors: 0 });
  assert.deepEqual((await all(replay("{"))).tally.summary, { ok: false, evaluated: 0, denied: 0, errors: 1 });
});

test("replay accepts text and bytes split at any position", async () => {
  // Each Job adds a denial, and most have an annotation with characters of 1, 2 and 4 bytes in UTF-8.
  const ofJob = (i) => HISTORY.map(({ type, object }) => ({ type, object: { ...object, metadata: { ...object.metadata, uid: `${i}`, name: `pi-${i}`, annotations: { note: "\u{1f600} ä {\"kind\":1}".repeat(i % 40) } } } }));
  const ndjson = Array.from({ length: 60 }, (_, i) => ofJob(i)).flat().map((one) => `${JSON.stringify(one)}\n`).join("");
  const file = join(folder, "history.ndjson");
  writeFileSync(file, ndjson);
  const expected = await all(replay([new TextEncoder().encode(ndjson)]));
  assert.deepEqual([expected.tally.denied, expected.tally.summary.errors], [60, 0]);
  const pieces = (size) => async function* () {
    for (let at = 0; at < ndjson.length; at += size) {
      yield ndjson.slice(at, at + size);
    }
  };
  for (const size of [1 << 16, 1 << 14, 4099, 997, 100, 7, 1]) {
    assert.deepEqual(await all(replay(pieces(size)())), expected, `${size}`);
  }
  assert.deepEqual(await all(replay(ndjson)), expected);
  assert.deepEqual(await all(replay(new TextEncoder().encode(ndjson))), expected);
  assert.deepEqual(await all(replay(createReadStream(file, "utf8"))), expected);
  assert.deepEqual(await all(replay(createReadStream(file))), expected);
  // Line readers remove line breaks.
  assert.deepEqual(await all(replay(createInterface({ input: Readable.from([ndjson]) }))), expected);
  assert.deepEqual(await all(replay(ndjson.trimEnd().split("\n"))), expected);
});

test("replay accepts chunks that contain exactly the object of an event", async () => {
  const chunks = HISTORY.flatMap(({ type, object }) => [`{"type":"${type}","object":`, JSON.stringify(object), "}\n"]);
  const expected = await all(replay(chunks.join("")));
  assert.deepEqual([expected.tally.denied, expected.tally.summary.errors], [1, 0]);
  assert.deepEqual(await all(replay(Readable.from(chunks))), expected);
});

test("replay accepts lines without line breaks, the first of them truncated", async () => {
  async function* lines() {
    yield '{"type":"ADDED","object":{"apiVers';
    yield* HISTORY.map((one) => JSON.stringify(one));
  }
  const { steps, tally } = await all(replay(lines()));
  assert.deepEqual(steps.map(({ line, skipped }) => [line, skipped]), [[1, "not-json"], [4, undefined]]);
  assert.equal(tally.denied, 1);
});

test("replay accepts bytes, text and objects in one input", async () => {
  const [first, second, third, fourth] = HISTORY;
  const text = JSON.stringify(second);
  async function* mixed() {
    yield new TextEncoder().encode(`${JSON.stringify(first)}\n`);
    yield text.slice(0, 9);
    yield text.slice(9);
    yield third;
    yield `${JSON.stringify(fourth)}\n`;
  }
  assert.deepEqual(await all(replay(mixed())), await all(replay(HISTORY)));
});

test("replay reports truncated and empty input, and continues", async () => {
  const lines = [JSON.stringify(HISTORY[0]), '{"type":"MODIFIED","object":{"apiVers', JSON.stringify(HISTORY[1]), "{}"];
  const { steps, tally } = await all(replay(lines));
  assert.deepEqual(steps.map(({ line, skipped }) => [line, skipped]), [[2, "not-json"], [4, "unknown-document"]]);
  assert.equal(tally.summary.errors, 2);
  assert.equal((await all(replay([]))).tally.documents, 0);
  await assert.rejects(all(replay([null])), { code: "ERR_INVALID_ARGUMENT", path: "lines" });
});

test("replay can be stopped early", async () => {
  for await (const step of replay([...HISTORY, ...HISTORY])) {
    assert.equal(step.line, 3);
    break;
  }
});

test("rules, explain, kinds, releases and settingsSchema return copies, and explain suggests the nearest rule", () => {
  assert.ok(rules().length > 50);
  assert.deepEqual(Object.keys(rules()[0]).sort(), ["clusterSpecific", "enforcement", "id", "releases", "title", "upstream"]);
  const catalog = () => structuredClone([rules(), explain("job-status/failed-decreased"), kinds(), releases(), settingsSchema()]);
  const before = catalog();
  const [[rule], page, [kind], list, schema] = [rules(), explain("job-status/failed-decreased"), kinds(), releases(), settingsSchema()];
  assert.match(page.source, /^kube-apiserver: /);
  assert.deepEqual(page.releases, list);
  for (const copy of [rule, page, kind, schema, schema.properties]) {
    copy.title = "mine";
  }
  for (const array of [rule.releases, page.releases, kind.versions, list]) {
    array.length = 0;
  }
  assert.deepEqual(catalog(), before);
  const error = thrown(() => explain("job-status/nope"));
  assert.deepEqual([error.code, error.path], ["ERR_UNKNOWN_RULE", "id"]);
  assert.ok(error.message.endsWith("rules() lists all of them"));
  assert.ok(thrown(() => explain("failed-decresed")).message.endsWith('did you mean "job-status/failed-decreased"?'));
  const [{ checks, unchecked, source, ...job }] = kinds();
  assert.ok(checks && unchecked && source);
  assert.deepEqual(job, {
    group: "batch", versions: ["v1"], prunedIn: [], kind: "Job", plural: "jobs", managedByPath: "spec.managedBy", reservedValue: "kubernetes.io/job-controller",
    workload: "Job", template: false, format: "path", defaulted: false, honorsManagedBy: true, status: true, rules: ["managed-by/format", "managed-by/immutable"],
  });
  assert.equal(settingsSchema().$schema, "https://json-schema.org/draft/2020-12/schema");
});

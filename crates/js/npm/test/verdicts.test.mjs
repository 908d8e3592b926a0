// Compares the package with the library and with kube-apiserver.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { diff, explain, kinds, lint, releases, review, rules } from "managed-by";
import { asResponse, compareAll, lines, read, root } from "./support.mjs";

test("every request gets the library's response", async () => {
  await compareAll("npm, as the policy", ({ name, request, settings, response }) => {
    const assertResponse = (...args) => assert.deepEqual(asResponse(review(...args)), response, `${name}: ${request}`);
    assertResponse(request, settings);
    // In an AdmissionReview, and as an object if that preserves its numbers.
    assertResponse(`{"request":${request}}`, JSON.stringify(settings));
    const object = JSON.parse(request);
    if (JSON.stringify(object) === request) {
      assertResponse(object, settings);
    }
    return 0;
  });
});

/** Intended differences from upstream. */
function known() {
  const entries = read("parity/known-differences.txt").split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return entries.map((line) => line.split(" -> ")[0]);
}

/** Rules that are off in the policy. Tools enable them: those of the API server deny, and the others warn. */
const ALL = Object.fromEntries(rules().filter((rule) => rule.enforcement === "off").map((rule) => [rule.id, rule.upstream ? "deny" : "warn"]));

test("every vector gets kube-apiserver's result for each release", async () => {
  const differences = known();
  let count = 0;
  const files = readdirSync(join(root, "parity/vectors"));
  assert.ok(files.length >= 4);
  for (const file of files) {
    for await (const vector of lines(`parity/vectors/${file}`)) {
      const { name, operation, subResource = "", object, oldObject } = vector.case;
      const [group, version] = object.apiVersion.split("/");
      const request = { kind: { group, version, kind: object.kind }, operation, subResource, object, oldObject };
      const resource = { group, version, resource: kinds().find(({ kind }) => kind === object.kind)?.plural ?? "jobs" };
      const differs = differences.some((prefix) => name.startsWith(prefix));
      // A patch release without a result has the one of the next release.
      let response;
      for (const release of releases().reverse()) {
        response = vector.results.find((result) => result.releases.includes(release)) ?? response;
        const verdict = review({ ...request, resource, name: object.metadata?.name ?? "" }, { kubernetes_version: release, rules: ALL });
        const errors = verdict.findings.filter((finding) => finding.upstream && finding.enforcement === "deny");
        const ours = { errors: [...new Set(errors.map(({ message }) => message))], message: verdict.code === 400 ? "" : (verdict.message ?? "") };
        const theirs = { errors: (response.errors ?? []).map(({ error }) => error), message: response.message ?? "" };
        const isUnreadable = verdict.code === 400;
        const isSame = isUnreadable === (response.malformed ?? false) && JSON.stringify(ours) === JSON.stringify(theirs);
        assert.equal(isSame, !differs, `${name} on ${release}: ${JSON.stringify(ours)}, not ${JSON.stringify(theirs)}`);
        count += 1;
      }
    }
  }
  // Every vector has a result for each release.
  assert.ok(count > 20_000 && count % releases().length === 0, `${count}`);
});

test("evaluations equal the library's for each release", async () => {
  const rowsOf = ({ findings }, releases) => findings.flatMap((finding) => (finding.releases ?? releases).map((release) => {
    const text = finding.messages?.find((entry) => entry.releases.includes(release))?.message ?? finding.message;
    return JSON.stringify([release, finding.rule, finding.enforcement, finding.path, text, finding.suggestion]);
  }));
  await compareAll("npm, each release", ({ name, request, settings, evaluation }) => {
    if (evaluation === null) {
      return undefined;
    }
    const ours = releases().flatMap((release) => {
      const verdict = review(request, { ...settings, kubernetes_version: release, rules: { ...ALL, ...settings.rules } });
      const { releases: _, ...releaseVerdict } = evaluation.releaseVerdicts.find((entry) => entry.releases.includes(release));
      const { findings, unchecked, ...response } = verdict;
      assert.deepEqual(response, releaseVerdict, `${name} on ${release}: ${request}`);
      assert.deepEqual(unchecked.map(({ path, reason }) => ({ path, reason })), evaluation.unchecked, `${name}: ${request}`);
      return rowsOf(verdict, [release]);
    });
    assert.deepEqual(new Set(ours), new Set(rowsOf(evaluation, [])), `${name}: ${request}`);
    return ours.length;
  });
});

/** Rules about the text of manifests, which `review` does not get. */
const MANIFEST_RULES = ["job-spec/immutable-field", "managed-by/unknown-field"];

const findings = (id, request, settings) => {
  if (!MANIFEST_RULES.includes(id)) {
    return review(request, settings).findings;
  }
  const { kind: { group, version, kind }, object, oldObject } = request;
  const manifest = (object) => JSON.stringify({ apiVersion: `${group}/${version}`, kind, ...object });
  const { objects } = oldObject ? diff(manifest(oldObject), manifest(object), settings) : lint(manifest(object), settings);
  return objects.flatMap(({ verdict }) => verdict.findings);
};

test("examples on the rules' pages have the documented results", () => {
  for (const { id } of rules()) {
    const { accepted, rejected } = explain(id);
    if (accepted.request.kind.kind === "Pod") {
      // Needs a cluster to look up the Job.
      continue;
    }
    // Pages may truncate the message.
    const full = (request) => JSON.parse(JSON.stringify(request).replace("(1 MiB of text)", "x".repeat(1 << 20)));
    const fired = ({ request, settings }) => findings(id, full(request), settings).map((finding) => finding.rule);
    assert.ok(!fired(accepted).includes(id), id);
    assert.deepEqual([...new Set(fired(rejected))], [id], id);
  }
});

test("lint and diff return review's verdict, with all rules enabled", async () => {
  let count = 0;
  for await (const { name, request: text, settings, response } of lines("target/expected.ndjson")) {
    const request = JSON.parse(text);
    const { operation, subResource = "", object, oldObject, userInfo, namespace } = request;
    const isWellFormed = response.audit_annotations !== undefined || response.accepted;
    if (name.includes(":") || !["CREATE", "UPDATE"].includes(operation) || !["", "status"].includes(subResource) || !isWellFormed) {
      continue;
    }
    const options = { username: userInfo.username, groups: userInfo.groups, namespace: namespace ?? "" };
    const now = JSON.stringify(object);
    const linted = operation === "CREATE" ? lint(now, settings, options) : diff(JSON.stringify(oldObject), now, settings, { ...options, ...(subResource === "status" ? { subResource } : {}) });
    for (const evaluated of linted.objects) {
      const again = review(evaluated.request, { ...settings, rules: { ...ALL, ...settings.rules } });
      const without = { ...evaluated.verdict, findings: evaluated.verdict.findings.map(({ position, ...finding }) => finding) };
      assert.deepEqual(without, again, name);
      count += 1;
    }
  }
  assert.ok(count > 50, `${count}`);
});

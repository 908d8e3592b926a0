// Compares the package with the library.
import assert from "node:assert/strict";
import { test } from "node:test";
import { diff, lint, review, rules } from "managed-by";
import { asResponse, compareAll, lines } from "./support.mjs";

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

/** Rules that are off in the policy. Tools enable them: those of the API server deny, and the others warn. */
const ALL = Object.fromEntries(rules().filter((rule) => rule.enforcement === "off").map((rule) => [rule.id, rule.upstream ? "deny" : "warn"]));

test("evaluations equal the library's for each release", async () => {
  await compareAll("npm, each release", ({ name, request, settings, evaluation }) => {
    if (evaluation === null) {
      return undefined;
    }
    const ours = review(request, settings, { releases: "all" });
    assert.deepEqual(ours, evaluation, `${name}: ${request}`);
    return ours.findings.length;
  });
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
      assert.deepEqual(evaluated.verdict, again, name);
      count += 1;
    }
  }
  assert.ok(count > 50, `${count}`);
});

// Checks that the module's memory does not grow over a million requests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CHANGED, TYPO } from "./support.mjs";

/** Memories of the modules that were started since. */
const memories = [];
const { Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(...given) {
    super(...given);
    memories.push(this.exports.memory);
  }
};
const { diff, lint, replay, review, validateSettings } = await import("managed-by");

const size = () => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);

test("memory does not grow over a million requests", () => {
  assert.equal(memories.length, 1);
  const request = JSON.stringify(CHANGED);
  const settings = JSON.stringify({ kubernetes_version: "1.37", role: "management" });
  for (let i = 0; i < 1000; i += 1) {
    review(request, settings);
  }
  const before = size();
  for (let i = 0; i < 1_000_000; i += 1) {
    review(request, settings);
  }
  assert.equal(size(), before);
});

test("memory does not grow in other functions and on errors", async () => {
  const once = async () => {
    lint(TYPO, {}, { releases: "all" });
    diff(TYPO, TYPO);
    validateSettings("role: x");
    assert.throws(() => review({}, "role: x"));
    for await (const step of replay([{ type: "ADDED", object: { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi" }, spec: { managedBy: "?" } } }])) {
      assert.equal(step.line, 1);
    }
  };
  for (let i = 0; i < 100; i += 1) {
    await once();
  }
  const before = size();
  for (let i = 0; i < 5000; i += 1) {
    await once();
  }
  assert.equal(size(), before);
});

test("memory of a large request is released", () => {
  const large = { ...CHANGED, object: { ...CHANGED.object, metadata: { name: "pi", annotations: { x: "y".repeat(4 << 20) } } } };
  review(large);
  const before = size();
  for (let i = 0; i < 50; i += 1) {
    review(large);
  }
  assert.equal(size(), before);
});

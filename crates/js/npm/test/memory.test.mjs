// Checks that the module's memory does not grow over a million requests, and is released after a large text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CHANGED, TYPO } from "./support.mjs";

/** Memories of all module instances, in the order of creation. */
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

/** Collects garbage, after the current tasks have released their objects. */
async function collectGarbage() {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  for (let i = 0; i < 5; i += 1) {
    await new Promise((resolve) => setTimeout(resolve));
    gc();
  }
}

const LARGE = TYPO.replace("name: pi", `name: pi\n  annotations: {x: ${"y".repeat(16 << 20)}}`);

test("memory of a large text is released after the call", async () => {
  lint(TYPO);
  const started = memories.length;
  assert.equal(lint(LARGE).objects.length, 1);
  assert.equal(memories.length, started + 1);
  const [replaced, current] = memories.slice(-2).map((memory) => new WeakRef(memory));
  assert.ok(replaced.deref().buffer.byteLength > 64 << 20);
  memories.length = 0;
  await collectGarbage();
  assert.equal(replaced.deref(), undefined);
  assert.ok(current.deref().buffer.byteLength < 4 << 20);
  assert.equal(lint(TYPO).objects.length, 1);
});

test("memory of a large text is released after the last replay", async () => {
  const event = (version, failed) => ({ type: "MODIFIED", object: { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", uid: "1", resourceVersion: `${version}` }, spec: { managedBy: "a.io/x" }, status: { failed } } });
  const started = memories.length;
  async function* events() {
    yield { ...event(1, 2), type: "ADDED" };
    // The replay's state is in the memory that the text enlarges.
    lint(LARGE);
    assert.equal(memories.length, started);
    yield event(2, 1);
  }
  const steps = [];
  for await (const step of replay(events())) {
    steps.push(step.verdict.code);
  }
  assert.deepEqual(steps, [422]);
  assert.equal(memories.length, started + 1);
});

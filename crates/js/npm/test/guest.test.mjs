// Runs the policy and the module of the Go package in V8 with a waPC host, and compares them with the library.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { releases } from "managed-by";
import { compareAll, root } from "./support.mjs";

/** Returns a function that calls an operation of a module. Each call uses a new instance, as in PolicyServer. */
function guest(file) {
  const module = new WebAssembly.Module(readFileSync(join(root, file)));
  return (operation, payload) => {
    const inputs = [Buffer.from(operation), Buffer.from(payload)];
    let response, failure, instance;
    const bytes = (at, length) => Buffer.from(instance.exports.memory.buffer, at, length);
    const text = (at, length) => bytes(at, length).toString();
    const nothing = () => 0;
    const wapc = {
      __guest_request: (...pointers) => pointers.forEach((at, index) => bytes(at, inputs[index].length).set(inputs[index])),
      __guest_response: (at, length) => { response = text(at, length); },
      __guest_error: (at, length) => { failure = text(at, length); },
      __console_log: (at, length) => { failure = text(at, length); },
      // The guest makes no host calls.
      __host_call: nothing, __host_response_len: nothing, __host_response: nothing, __host_error_len: nothing, __host_error: nothing,
    };
    instance = new WebAssembly.Instance(module, { wapc });
    instance.exports.wapc_init();
    assert.equal(instance.exports.__guest_call(inputs[0].length, inputs[1].length), 1, failure);
    return JSON.parse(response);
  };
}

test("the policy returns the library's response to every request, and the module of the Go package its evaluation", async () => {
  const policy = guest("annotated-policy.wasm");
  const withFindings = guest("go/managedby/module.wasm");
  await compareAll("the guest in V8", ({ name, request, settings, response, evaluation }) => {
    const payload = `{"request":${request},"settings":${JSON.stringify(settings)}}`;
    assert.deepEqual(policy("validate", payload), response, `${name}: ${request}`);
    if (evaluation === null) {
      return 0;
    }
    const ours = withFindings("evaluate", `{"releases":${JSON.stringify(releases())},"review":${payload}}`);
    assert.deepEqual(ours, evaluation, `${name}: ${request}`);
    return ours.findings.reduce((sum, finding) => sum + finding.releases.length, 0);
  });
});

// Shared functions of the tests.
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
export const built = join(root, "target/npm");

/** Parses the lines of a file as JSON. */
export async function* lines(file) {
  for await (const line of createInterface({ input: createReadStream(resolve(root, file)), crlfDelay: Infinity })) {
    yield JSON.parse(line);
  }
}

/**
 * Calls `compare` with each line of `target/expected.ndjson`, or of the file in EXPECTED_RESULTS. `compare` returns the number of compared findings, or
 * undefined for an unsupported request.
 */
export async function compareAll(entryPoint, compare) {
  const start = Date.now();
  let requests = 0;
  let findings = 0;
  for await (const line of lines(process.env.EXPECTED_RESULTS ?? "target/expected.ndjson")) {
    const compared = compare(line);
    requests += compared === undefined ? 0 : 1;
    findings += compared ?? 0;
  }
  console.log(`${entryPoint}: ${requests} requests, ${findings} findings, none differ, ${(Date.now() - start) / 1000} s`);
  assert.ok(requests > 1000, `${requests}`);
}

/** Converts a verdict into the response of the policy's module. */
export function asResponse({ allowed, message, code, auditAnnotations, warnings }) {
  return {
    accepted: allowed,
    ...(message === undefined ? {} : { message }),
    ...(code === undefined ? {} : { code }),
    ...(Object.keys(auditAnnotations).length === 0 ? {} : { audit_annotations: auditAnnotations }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

/** An update that kube-apiserver denies. */
export const CHANGED = {
  kind: { group: "batch", version: "v1", kind: "Job" },
  operation: "UPDATE",
  oldObject: { metadata: { name: "pi" }, spec: { managedBy: "a.io/x" } },
  object: { metadata: { name: "pi" }, spec: { managedBy: "b.io/y" } },
};

/** A create with a typo. */
export const TYPO = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: pi\nspec:\n  managedBy: kubernetes.io/job-controler\n";

/** Returns the error that a call throws. */
export function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

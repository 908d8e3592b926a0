// Tests the state diagram of a Job.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { load, root, select, usePage } from "./support.mjs";

const onPage = usePage();

const START = { startTime: "2026-01-01T00:00:00Z" };
const END = { completionTime: "2026-01-01T01:00:00Z" };
const conditions = (...types) => ({ conditions: types.map((type) => ({ type, status: "True" })) });
const STATUSES = {
  none: {},
  running: START,
  suspended: conditions("Suspended"),
  criteria: { ...START, ...conditions("SuccessCriteriaMet") },
  target: { ...START, ...conditions("FailureTarget") },
  complete: { ...START, ...END, ...conditions("SuccessCriteriaMet", "Complete") },
  failed: { ...START, ...conditions("FailureTarget", "Failed") },
};
const STATES = Object.keys(STATUSES);
const job = (status, spec = {}) => ({ apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi", namespace: "default" }, spec: { managedBy: "example.com/x", ...spec }, status });
const update = (from, to) => ({ operation: "status", oldObject: JSON.stringify(job(STATUSES[from])), object: JSON.stringify(job(STATUSES[to])) });

/** Returns the arrows that cross a box or leave the picture, and the texts that do not fit in their boxes. */
const flaws = (page) =>
  page.locator("svg.diagram").evaluate((picture) => {
    const view = picture.viewBox.baseVal;
    const boxes = [...picture.querySelectorAll("[data-state]")].map((group) => ({ id: group.dataset.state, box: group.querySelector("rect").getBBox(), texts: [...group.querySelectorAll("text")] }));
    const isInside = ({ x, y, width, height }, point, margin) => point.x > x + margin && point.x < x + width - margin && point.y > y + margin && point.y < y + height - margin;
    const found = [];
    for (const path of picture.querySelectorAll("path.transition")) {
      const length = path.getTotalLength();
      for (let at = 0; at <= length; at += 2) {
        const point = path.getPointAtLength(at);
        found.push(...boxes.filter(({ box }) => isInside(box, point, 1)).map(({ id }) => `${path.className.baseVal} crosses ${id}`));
        if (!isInside(view, point, 2)) {
          found.push(`${path.className.baseVal} leaves the picture`);
        }
      }
    }
    for (const { box, texts } of boxes) {
      for (const text of texts) {
        const { x, width } = text.getBBox();
        if (x < box.x + 5 || x + width > box.x + box.width - 5) {
          found.push(`${text.textContent} is wider than its box`);
        }
      }
    }
    return [...new Set(found)];
  });

for (const viewport of [{ width: 1440, height: 900 }, { width: 400, height: 844 }]) {
  test(`arrows do not cross boxes, and texts fit in boxes, ${viewport.width} wide`, async () => {
    await onPage(
      async (page) => {
        for (const from of STATES) {
          for (const to of STATES) {
            await load(page, update(from, to));
            assert.deepEqual(await flaws(page), [], `from ${from} to ${to}`);
            const ends = await page.locator(".from, .to").evaluateAll((groups) => groups.map((group) => group.dataset.state));
            assert.deepEqual(ends.sort(), [...new Set([from, to])].sort());
          }
        }
      },
      { viewport },
    );
  });
}

test("only a transition that no update may make is forbidden", async () => {
  await onPage(async (page) => {
    const caption = () => page.locator("figcaption").innerText();
    await select(page, "#example", "status/03-terminal-condition-taken-back");
    assert.equal(await caption(), "The Job goes from Failed to Failing: forbidden. No status update may make this transition.");
    assert.equal(await page.locator(".transition.forbidden").count(), 1);
    await select(page, "#example", "status/01-running-job-completes");
    assert.equal(await caption(), "The Job goes from Running to Complete: allowed.");
    // The Job may complete, but not without completionTime.
    await load(page, { ...update("running", "complete"), object: JSON.stringify(job({ ...START, ...conditions("SuccessCriteriaMet", "Complete") })) });
    assert.equal(await caption(), "The Job goes from Running to Complete: this update is denied, but another one may make the transition.");
    assert.equal(await page.locator(".transition.denied").count(), 1);
    // The user may not write the status, but another one may.
    await select(page, "#example", "cluster-specific/06-management-status-written-by-a-person");
    assert.doesNotMatch(await caption(), /forbidden/);
  });
});

test("a transition is possible if and only if at least one update between its states is allowed", async (t) => {
  const outfile = join(root, "target/playground-transitions.mjs");
  t.after(() => rmSync(outfile, { force: true }));
  const entry = join(root, "crates/js/playground/src/transitions.ts");
  await esbuild.build({ entryPoints: [entry], outfile, bundle: true, format: "esm", platform: "node", alias: { "managed-by/web": join(root, "target/npm/node.mjs") }, external: [join(root, "target/npm/*")] });
  const { isPossible, stateOf } = await import(pathToFileURL(outfile));
  const { diff } = await import("managed-by");
  const types = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget", "Suspended"];
  const statuses = [{}, START, END, { ...START, ...END }].flatMap((times) =>
    Array.from({ length: 2 ** types.length }, (_, set) => ({ ...times, ...conditions(...types.filter((_, bit) => (set >> bit) & 1)) })),
  );
  const specs = [true, false].map((suspend) => ({ suspend, completions: 1, completionMode: "Indexed", successPolicy: { rules: [{ succeededCount: 1 }] } }));
  // One call evaluates the updates from one status to all statuses.
  for (const release of ["1.30", "1.31", "1.37"]) {
    const seen = new Map();
    for (const spec of specs) {
      for (const old of statuses) {
        const name = (index) => ({ name: `pi-${index}`, namespace: "default" });
        const objects = (statusAt) => JSON.stringify({ apiVersion: "v1", kind: "List", items: statuses.map((_, index) => ({ ...job(statusAt(index), spec), metadata: name(index) })) });
        const { objects: results } = diff(objects(() => old), objects((index) => statuses[index]), { kubernetes_version: release }, { subResource: "status" });
        for (const { request, verdict } of results) {
          const pair = `${stateOf(old)} to ${stateOf(request.object.status)}`;
          seen.set(pair, seen.get(pair) === true || verdict.allowed);
        }
      }
    }
    assert.equal(seen.size, 49);
    for (const from of STATES) {
      for (const to of STATES) {
        assert.equal(isPossible(from, to, "", release), seen.get(`${from} to ${to}`), `${release}: ${from} to ${to}`);
      }
    }
  }
});

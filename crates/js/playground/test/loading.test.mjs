// Tests what the page shows if the policy does not load.
import assert from "node:assert/strict";
import { test } from "node:test";
import { editor, evaluated, outcome, subject, usePage } from "./support.mjs";

const onPage = usePage();

const missing = (page) => page.route("**/managed_by.wasm", (route) => route.fulfill({ status: 404, body: "" }));
const failures = {
  "the server has no module": [/the module could not be loaded: .*404 Not Found/, missing],
  "the server sends a damaged module": [/CompileError|WebAssembly/, (page) => page.route("**/managed_by.wasm", (route) => route.fulfill({ contentType: "application/wasm", body: "damaged" }))],
  "the server is unreachable": [/Failed to fetch/, (page) => page.route("**/managed_by.wasm", (route) => route.abort())],
  "the server has no worker": [/evaluation-worker\.js/, (page) => page.route("**/evaluation-worker.js", (route) => route.fulfill({ status: 404, body: "" }))],
};

for (const [name, [reason, prepare]] of Object.entries(failures)) {
  test(`the page gives the reason if ${name}, and loads the policy again`, async () => {
    await onPage(
      async (page) => {
        assert.equal(await outcome(page), "The policy did not load");
        assert.match(await subject(page), reason);
        assert.match(await page.locator("#live-region").textContent(), /^The policy did not load: /);
        assert.match(await editor(page).innerText(), /kind: Job/);
        await page.unrouteAll();
        await page.getByRole("button", { name: "Try again" }).click();
        await page.waitForSelector(".terminal");
        assert.match(await outcome(page), /^Allowed/);
      },
      { prepare },
    );
  });
}

test("a replay gives the reason if the policy does not load", async () => {
  await onPage(
    async (page) => {
      await evaluated(page);
      await page.click("#replay-sample");
      await page.locator("#replay-status", { hasText: "the module could not be loaded" }).waitFor();
    },
    { prepare: missing },
  );
});

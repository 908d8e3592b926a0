// Tests what the page shows if the policy does not load.
import assert from "node:assert/strict";
import { test } from "node:test";
import { editor, evaluated, outcome, subject, usePage } from "./support.mjs";

const onPage = usePage();

const failures = {
  "the server has no module": [
    /^The server returned 404 Not Found for managed_by\.wasm\.$/,
    (page) => page.route("**/managed_by.wasm", (route) => route.fulfill({ status: 404, body: "" })),
  ],
  "the server sends a page instead of the module": [
    /^The server sent managed_by\.wasm as text\/html, not as application\/wasm, and it is not a module\.$/,
    (page) => page.route("**/managed_by.wasm", (route) => route.fulfill({ contentType: "text/html; charset=utf-8", body: "<!doctype html>" })),
  ],
  "the server sends a damaged module": [
    /CompileError|WebAssembly/,
    (page) => page.route("**/managed_by.wasm", (route) => route.fulfill({ contentType: "application/wasm", body: "damaged" })),
  ],
  "the server is unreachable": [/^The server is unreachable\.$/, (page) => page.route("**/managed_by.wasm", (route) => route.abort())],
  "the browser is offline": [
    /^You are offline, and this browser has no copy of the page\.$/,
    (page, context) =>
      page.route("**/managed_by.wasm", async (route) => {
        await context.setOffline(true);
        await route.abort("internetdisconnected");
      }),
  ],
  "the browser has no WebAssembly": [
    /^This browser does not support WebAssembly, or WebAssembly is disabled\.$/,
    (page) =>
      page.route("**/evaluation-worker.js", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: `delete globalThis.WebAssembly;${await response.text()}` });
      }),
  ],
  "the server has no worker": [/evaluation-worker\.js/, (page) => page.route("**/evaluation-worker.js", (route) => route.fulfill({ status: 404, body: "" }))],
};

for (const [name, [reason, prepare]] of Object.entries(failures)) {
  test(`the page gives the reason if ${name}, and loads the policy again`, async () => {
    await onPage(
      async (page, context) => {
        assert.equal(await outcome(page), "The policy did not load");
        assert.match(await subject(page), reason);
        assert.match(await page.locator("#live-region").textContent(), /^The policy did not load: /);
        assert.match(await editor(page).innerText(), /kind: Job/);
        await context.setOffline(false);
        await page.unrouteAll();
        await page.getByRole("button", { name: "Try again" }).click();
        await page.waitForSelector(".terminal");
        assert.match(await outcome(page), /^Allowed/);
      },
      { prepare },
    );
  });
}

test("a module with the wrong type loads", async () => {
  await onPage(async (page) => assert.match(await outcome(page), /^Allowed/), {
    prepare: (page) =>
      page.route("**/managed_by.wasm", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, headers: { "content-type": "application/octet-stream" } });
      }),
  });
});

test("a replay gives the reason if the policy does not load", async () => {
  await onPage(
    async (page) => {
      await evaluated(page);
      await page.click("#replay-sample");
      await page.locator("#replay-status", { hasText: "The server returned 404" }).waitFor();
    },
    { prepare: failures["the server has no module"][1] },
  );
});

// Tests the layout: accessibility, narrow windows, layout shifts.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { history, JOB, load, paste, root, select, usePage } from "./support.mjs";

const onPage = usePage();

/** Delays of files in milliseconds, to simulate a slow network. */
const DELAYS = [[/main\.js$/, 300], [/evaluation-worker\.js$/, 300], [/\.wasm$/, 600]];

test("a slow load does not move the content on a phone or a desktop", async (t) => {
  for (const viewport of [{ width: 412, height: 823 }, { width: 1350, height: 940 }]) {
    await onPage(
      async (page) => {
        // Include shifts after the evaluation.
        await page.waitForTimeout(500);
        const shift = await page.evaluate(() => window.shift);
        t.diagnostic(`${viewport.width} wide: ${shift.toFixed(3)}`);
        assert.ok(shift < 0.05, `${shift}`);
      },
      {
        viewport,
        prepare: async (page) => {
          for (const [pattern, delay] of DELAYS) {
            await page.route(pattern, async (route) => {
              await new Promise((done) => setTimeout(done, delay));
              await route.continue();
            });
          }
          await page.addInitScript(() => {
            window.shift = 0;
            new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.shift += entry.value))).observe({ type: "layout-shift", buffered: true });
          });
        },
      },
    );
  }
});

test("the table fits in a narrow window", async () => {
  await onPage(
    async (page) => {
      const isWhole = (selector) =>
        page.locator(selector).evaluateAll((elements) => elements.map((element) => {
          const { left, right } = element.getBoundingClientRect();
          return left >= 0 && right <= document.documentElement.clientWidth && element.scrollWidth <= element.clientWidth + 1;
        }));
      await page.setInputFiles("#file", { name: "jobs.ndjson", mimeType: "text/plain", buffer: history(300_000) });
      await page.waitForSelector(".totals");
      const cells = await isWhole("#replay :is(th, td):not(thead *)");
      assert.ok(cells.length > 5 && cells.every((whole) => whole), JSON.stringify(cells));
      assert.match(await page.locator("#replay tbody td").nth(1).evaluate((cell) => getComputedStyle(cell, "::before").content), /Times/);
    },
    { viewport: { width: 400, height: 844 } },
  );
});

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const screens = join(root, "target/playground-screens");

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of [[1400, 900], [400, 844]]) {
    test(`axe reports no violations, ${colorScheme}, ${width} wide`, async () => {
      mkdirSync(screens, { recursive: true });
      await onPage(
        async (page) => {
          const scan = async (name) => {
            await page.screenshot({ path: join(screens, `${name}-${colorScheme}-${width}.png`), fullPage: true });
            const isWide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
            assert.equal(isWide, false, `${name} is wider than the window`);
            const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
            const messages = violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
            assert.deepEqual(messages, []);
          };
          // Needs bypassCSP, because axe is a script that the page's CSP blocks.
          await page.addScriptTag({ path: axe });
          for (const example of ["field/04-typo-in-the-reserved-value", "status/02-marked-complete-too-early", "status/01-running-job-completes", "cluster-specific/07-management-break-glass"]) {
            await select(page, "#example", example);
            await scan(example.replace("/", "-"));
          }
          await load(page, { object: [JOB, JOB.replace("name: pi", "name: e").replace("multikueue", "multikueu"), JOB.replace("kueue.x-k8s.io/multikueue", "not a name"), "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"].join("---\n") });
          await scan("documents");
          await page.getByRole("tab", { name: "Settings" }).click();
          await paste(page, "role: manager\n");
          await scan("settings");
          await paste(page, "");
          await page.setInputFiles("#file", { name: "jobs.ndjson", mimeType: "text/plain", buffer: history(300_000) });
          await page.waitForSelector(".totals");
          await scan("replay");
        },
        { colorScheme, viewport: { width, height }, bypassCSP: true },
      );
    });
  }
}

// Checks the accessibility of the page of `managed-by conformance`, with the browser and axe of this package.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, root } from "./support.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const folder = join(root, "target/report-screens");
const file = join(folder, "report.html");
let browser;
before(async () => {
  mkdirSync(folder, { recursive: true });
  const args = ["conformance", "parity/traces/child-jobs.ndjson", "--controller", "kubernetes.io/job-controller", "--html", file];
  const { status, stderr } = spawnSync("cargo", ["run", "--quiet", "--package", "managed-by-cli", "--", ...args], { cwd: root, encoding: "utf8" });
  // 1: a release denies a write.
  assert.equal(status, 1, stderr);
  browser = await launch();
});
after(() => browser?.close());

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    test(`axe reports no violations in a conformance report, ${colorScheme}, ${width} wide`, async () => {
      const page = await browser.newPage({ colorScheme, viewport: { width, height } });
      await page.goto(pathToFileURL(file).href);
      await page.screenshot({ path: join(folder, `report-${colorScheme}-${width}.png`), fullPage: true });
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      assert.equal(isWide, false, "wider than the window");
      await page.addScriptTag({ path: axe });
      const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`), []);
      // Each link to a write leads to it.
      const dangling = await page.evaluate(() => [...document.querySelectorAll('a[href^="#"]')].filter((link) => document.querySelector(link.hash) === null).length);
      assert.equal(dangling, 0);
      await page.close();
    });
  }
}

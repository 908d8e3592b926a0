// Takes the pictures in docs/pictures, and tests that each still shows what a reader would see.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { JOB, paste, root, usePage } from "./support.mjs";

const onPage = usePage();
const PICTURES = join(root, "docs/pictures");
const HASHES = join(PICTURES, "hashes.json");
const TERMINAL = "margin: 0; padding: 20px; height: 100vh; box-sizing: border-box; background: #16181d; color: #e4e6eb; font: 15px/1.45 'DejaVu Sans Mono', monospace";

/** Takes a picture of the page, or compares a hash of an element's text with that of the picture: pixels differ between machines. */
async function expectPicture(page, name, selector) {
  const text = await page.locator(selector).innerText();
  const hash = createHash("sha256").update(text).digest("hex");
  const taken = JSON.parse(readFileSync(HASHES, "utf8"));
  if (process.env.UPDATE_EXPECT !== undefined && taken[name] !== hash) {
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
    writeFileSync(HASHES, `${JSON.stringify({ ...taken, [name]: hash }, undefined, 2)}\n`);
  } else {
    assert.equal(hash, taken[name], `${name}.png is outdated: UPDATE_EXPECT=1 make playground-test\n${text}`);
  }
}

test("the picture of the playground is up to date", async () => {
  await onPage(
    async (page) => {
      await paste(page, JOB.replace("multikueue", "multikeue"));
      await expectPicture(page, "playground", "#result");
    },
    { viewport: { width: 1200, height: 920 } },
  );
});

// A test of the CLI compares the page with the output.
test("the picture of a workload's status is up to date", async () => {
  const [, output] = readFileSync(join(root, "docs/tasks/find-orphans.md"), "utf8").match(/( *\$ managed-by status job\/[^`]*)```/);
  await onPage(
    async (page) => {
      await page.evaluate(([text, style]) => {
        const terminal = Object.assign(document.createElement("pre"), { textContent: text });
        terminal.style.cssText = style;
        document.body.replaceChildren(terminal);
      }, [output.replaceAll(/^ {3}/gm, "").trim(), TERMINAL]);
      await expectPicture(page, "status", "pre");
    },
    { viewport: { width: 1010, height: 216 } },
  );
});

// Checks the published package: files, sizes, types, and every way to load it.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import * as esbuild from "esbuild";
import * as imported from "managed-by";
import { built, CHANGED, root } from "./support.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const bin = (name) => join(here, "../../node_modules/.bin", name);
const folder = mkdtempSync(join(tmpdir(), "managed-by-"));
after(() => rmSync(folder, { recursive: true }));
symlinkSync(join(here, "../../node_modules"), join(folder, "node_modules"));
const write = (name, text) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const FUNCTIONS = ["diff", "explain", "kinds", "lint", "releaseRange", "releases", "releasesWithManagedByOnByDefault", "replay", "review", "rules", "settingsSchema", "validateSettings"];
const MESSAGE = imported.review(CHANGED).message;
const published = JSON.parse(readFileSync(join(built, "package.json"), "utf8"));

/** Size limits of the module, uncompressed and compressed. The table of the fields of a Job's spec, which `diff` reads, is 14 KB of them. */
const LIMITS = { bytes: 624 * 1024, brotli: 220 * 1024 };

test("the module stays within the size limits", () => {
  const wasm = readFileSync(join(built, "managed_by.wasm"));
  const brotli = brotliCompressSync(wasm, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length;
  assert.ok(wasm.length <= LIMITS.bytes && brotli <= LIMITS.brotli, `bytes ${wasm.length}, brotli ${brotli}: more than the limits ${LIMITS.bytes} and ${LIMITS.brotli}`);
});

test("the module imports only its own glue", () => {
  const module = new WebAssembly.Module(readFileSync(join(built, "managed_by.wasm")));
  const imports = WebAssembly.Module.imports(module);
  assert.ok(imports.every(({ module: from, name }) => from === "./managed_by_bg.js" && name.startsWith("__wb")), JSON.stringify(imports));
});

test("CommonJS and ESM have the same functions", () => {
  const required = createRequire(import.meta.url)("managed-by");
  for (const module of [imported, required]) {
    assert.deepEqual(Object.keys(module).filter((name) => typeof module[name] === "function" && name !== "ManagedByError" && name !== "default").sort(), FUNCTIONS);
    assert.equal(module.review(CHANGED).message, MESSAGE);
  }
});

test("a page without a bundler loads the module on init", async () => {
  const web = await import(join(built, "web.mjs"));
  assert.throws(() => web.review(CHANGED), { code: "ERR_NOT_READY" });
  await assert.rejects(web.init(new Uint8Array([1, 2, 3])), { code: "ERR_LOAD", path: "source" });
  await Promise.all([web.init(readFileSync(join(built, "managed_by.wasm"))), web.init()]);
  assert.equal(web.review(CHANGED).message, MESSAGE);
});

test("bundlers use the browser entry point and drop unused functions", async () => {
  const bundle = async (text) => {
    const entry = write("entry.mjs", text);
    const { outputFiles } = await esbuild.build({ entryPoints: [entry], bundle: true, format: "esm", platform: "browser", minify: true, write: false });
    return outputFiles[0].text;
  };
  const all = await bundle('import * as managedBy from "managed-by"; globalThis.all = managedBy;');
  const one = await bundle('import { review } from "managed-by"; globalThis.one = review;');
  const none = await bundle('import "managed-by";');
  const inlined = readFileSync(join(built, "managed_by.wasm"), "base64");
  assert.ok(one.includes(inlined) && all.includes(inlined));
  const [oneAlone, allAlone] = [one, all].map((code) => code.length - inlined.length);
  assert.ok(oneAlone < 30_000 && allAlone > 80_000, `${oneAlone} of ${allAlone}`);
  assert.ok(none.length < 100, `${none.length}`);
  const page = await bundle('import { init, review } from "managed-by/web"; init().then(() => { globalThis.one = review; });');
  assert.ok(page.length < 30_000, `${page.length}`);
  assert.match(page, /new URL\("\.\/managed_by\.wasm",import\.meta\.url\)/);
});

test("the types compile in both module formats", () => {
  const use = `
    const verdict: import("managed-by").Verdict = review({ kind: { group: "batch", version: "v1", kind: "Job" }, operation: "CREATE", object: {} }, { role: "worker" });
    const message: string | undefined = verdict.message;
    // @ts-expect-error: no such role
    review("{}", { role: "manager" });
    // @ts-expect-error: no such operation
    review({ kind: { group: "", version: "", kind: "" }, operation: "PATCH" });
    async function each(): Promise<number> {
      for await (const step of replay([new Uint8Array()])) {
        const rule: import("managed-by").RuleId | undefined = step.verdict?.findings[0]?.rule;
        console.log(rule === "managed-by/immutable", step.skipped === "not-json", message);
        // @ts-expect-error: no such value
        console.log(step.skipped === "not-jsn");
        // @ts-expect-error: no such rule
        console.log(rule === "managed-by/imutable");
      }
      replay("text");
      // @ts-expect-error: no history
      replay(5);
      return lint("").summary.ok ? 0 : lint("").objects.length;
    }
    void each;`;
  const files = [
    write("esm.mts", `import { lint, replay, review } from "managed-by";${use}`),
    write("cjs.cts", `import { lint, replay, review } from "managed-by";${use}`),
    write("client.mts", `import { BatchV1Api, KubeConfig } from "@kubernetes/client-node";
      import { WriteChecker } from "managed-by/client-node";
      const checker = new WriteChecker({ settings: { role: "hybrid" } });
      const config: KubeConfig = checker.wrap(new KubeConfig());
      export const jobs: BatchV1Api = config.makeApiClient(BatchV1Api);
      // @ts-expect-error: no such role
      new WriteChecker({ settings: { role: "manager" } });`),
    write("web.mts", `import { init, lint, replay, review } from "managed-by/web"; import url from "managed-by/managed_by.wasm"; void init(url satisfies string);${use}`),
  ];
  const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", "node", "--skipLibCheck", "false"];
  for (const resolution of [["--module", "node16"], ["--module", "preserve", "--moduleResolution", "bundler"]]) {
    execFileSync(bin("tsc"), [...options, ...resolution, ...files], { cwd: folder, stdio: "pipe" });
  }
  // Older versions of TypeScript read this.
  for (const [file] of Object.values(published.typesVersions["*"])) {
    assert.ok(existsSync(join(built, file)), file);
  }
});

test("the published package contains exactly the required files", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json"], { cwd: built, stdio: ["ignore", "pipe", "ignore"] }));
  const expected = ["LICENSE", "README.md", "browser.mjs", "client-node.d.mts", "client-node.mjs", "index.d.cts", "index.d.mts", "managed_by.wasm", "managed_by.wasm.d.ts", "module.cjs", "module.mjs", "node.cjs", "node.mjs", "package.json", "settings.schema.json", "web.d.mts", "web.mjs"];
  assert.deepEqual(files.map((file) => file.path).sort(), expected.sort());
  for (const name of readdirSync(built)) {
    const text = readFileSync(join(built, name), "latin1");
    assert.ok(!text.includes(root) && !text.includes("/.cargo/"), `${name} contains a path of the build machine`);
  }
});

test("the lock file contains no registry URLs", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "crates/js/package-lock.json"), "utf8"));
  assert.deepEqual(Object.values(packages).filter(({ resolved }) => resolved !== undefined), []);
});

test("examples in the documentation print the documented output", () => {
  let count = 0;
  for (const file of ["docs/reference/javascript.md", "crates/js/npm/README.md"]) {
    const blocks = readFileSync(join(root, file), "utf8").matchAll(/```js\n((?:(?!```).)*)```\n\n```text\n(.*?)```/gs);
    for (const [, code, printed] of blocks) {
      const example = write(`example-${count}.mjs`, code);
      assert.equal(execFileSync(process.execPath, [example], { encoding: "utf8" }), printed, code);
      count += 1;
    }
  }
  assert.equal(count, 3);
});

test("the documented test of a controller fails with the missing condition", () => {
  const [, code] = /### Test a controller\n.*?```js\n(.*?)```/s.exec(readFileSync(join(root, "docs/reference/javascript.md"), "utf8"));
  const { status, stdout } = spawnSync(process.execPath, ["--test", write("status.test.mjs", code)], {
    encoding: "utf8",
    // Otherwise the test runner does not run tests inside a test.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  assert.equal(status, 1);
  assert.match(stdout, /cannot set Complete=True condition without the SuccessCriteriaMet=true condition/);
});

test("the documentation lists the declared functions", () => {
  const declared = readFileSync(join(built, "index.d.mts"), "utf8").matchAll(/^export declare (function .*;)$/gm);
  const [, listed] = /## Functions\n\n```ts\n(.*?)```/s.exec(readFileSync(join(root, "docs/reference/javascript.md"), "utf8"));
  assert.deepEqual(listed.trim().split("\n").sort(), [...declared].map(([, declaration]) => declaration).sort());
});

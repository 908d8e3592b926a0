// Builds programs that use the package with several bundlers from npm, runs each bundle and checks its output.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as esbuild from "esbuild";
import { review } from "managed-by";
import { built, CHANGED, root } from "./support.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "managed-by-bundlers-"));
after(() => rmSync(folder, { recursive: true }));
const MESSAGE = review(CHANGED).message;

/** Loads a bundler from its own directory. */
const from = async (name, bundler) => import(pathToFileURL(createRequire(join(here, `../bundlers/${name}/package.json`)).resolve(bundler)).href);

/** Sources of pages that import the package, or load the module themselves. */
const USES = {
  "import": `import { review } from "managed-by";
console.log(review(${JSON.stringify(CHANGED)}).message);`,
  "init with a ?url import": `import { init, review } from "managed-by/web";
import url from "managed-by/managed_by.wasm?url";
init(url).then(() => console.log(review(${JSON.stringify(CHANGED)}).message));`,
  "init with new URL()": `import { init, review } from "managed-by/web";
init(new URL("managed-by/managed_by.wasm", import.meta.url)).then(() => console.log(review(${JSON.stringify(CHANGED)}).message));`,
};

/** Creates a program with a copy of the package in node_modules, because bundlers treat symlinks differently. */
function app(name, use) {
  const at = mkdtempSync(join(folder, `${name}-`));
  mkdirSync(join(at, "node_modules"));
  cpSync(built, join(at, "node_modules/managed-by"), { recursive: true });
  writeFileSync(join(at, "package.json"), '{"name": "app", "private": true, "type": "module"}');
  writeFileSync(join(at, "main.js"), USES[use]);
  writeFileSync(join(at, "index.html"), '<!doctype html><title>app</title><script type="module" src="/main.js"></script>');
  return at;
}

/** Runs a bundle outside of the package, with fetches served from a directory or a server. */
async function outputOf(bundle, origin) {
  const stub = join(folder, "stub.mjs");
  writeFileSync(
    stub,
    `import { readFileSync } from "node:fs";
const origin = process.argv[3];
const real = globalThis.fetch;
globalThis.fetch = async (input) => {
  const path = typeof input === "string" ? input : input.pathname;
  if (origin.startsWith("http")) return real(new URL(path, origin));
  return new Response(readFileSync(origin + path), { headers: { "content-type": "application/wasm" } });
};
globalThis.location = new URL("http://localhost/");
globalThis.self = globalThis;
await import(process.argv[2]);`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [stub, pathToFileURL(bundle).href, origin]);
  return stdout.trim();
}

const only = (list) => {
  assert.equal(list.length, 1, list.join(", "));
  return list[0];
};

for (const use of ["import", "init with a ?url import"]) {
  test(`Vite 8 builds: ${use}`, async () => {
    const vite = await from("vite8", "vite");
    assert.match(vite.version, /^8\./);
    const at = app("vite", use);
    const bundled = await vite.build({ root: at, configFile: false, logLevel: "error", build: { modulePreload: { polyfill: false } } });
    const { fileName } = only(bundled.output.filter(({ type }) => type === "chunk"));
    // The extension makes Node load it as a module.
    cpSync(join(at, "dist", fileName), join(at, "dist/bundle.mjs"));
    assert.equal(await outputOf(join(at, "dist/bundle.mjs"), join(at, "dist")), MESSAGE);
    assert.equal(readdirSync(join(at, "dist/assets")).some((name) => name.endsWith(".wasm")), use !== "import");
  });

  test(`Vite 8 dev server: ${use}`, async () => {
    const vite = await from("vite8", "vite");
    const at = app("vite", use);
    const server = await vite.createServer({ root: at, configFile: false, logLevel: "error", server: { host: "127.0.0.1", port: 0, hmr: false, watch: null } });
    try {
      await server.listen();
      const origin = `http://127.0.0.1:${server.httpServer.address().port}`;
      const got = new Map();
      const get = async (path) => {
        if (!got.has(path)) {
          const file = join(at, `got-${got.size}.mjs`);
          got.set(path, file);
          const response = await fetch(origin + path, { headers: { accept: "*/*", "sec-fetch-dest": "script" } });
          let code = await response.text();
          assert.equal(response.status, 200, `${path}: ${code}`);
          for (const [whole, before, next] of code.matchAll(/((?:from|import)\s*)"(\/[^"]+)"/g)) {
            code = code.replace(whole, `${before}${JSON.stringify(pathToFileURL(await get(next)).href)}`);
          }
          writeFileSync(file, code);
        }
        return got.get(path);
      };
      const main = await get("/main.js");
      assert.equal(await outputOf(main, origin), MESSAGE);
    } finally {
      await server.close();
    }
  });
}

for (const use of ["import", "init with new URL()"]) {
  test(`webpack 5 builds: ${use}`, async () => {
    const { default: webpack } = await from("webpack5", "webpack");
    assert.match(webpack.version, /^5\./);
    const at = app("webpack", use);
    const output = { path: join(at, "dist"), filename: "bundle.cjs", publicPath: "/" };
    const stats = await new Promise((resolve, reject) => {
      const compiler = webpack({ context: at, entry: "./main.js", mode: "production", target: "web", output });
      compiler.run((error, result) => compiler.close((failed) => (error ?? failed ? reject(error ?? failed) : resolve(result))));
    });
    assert.deepEqual(stats.toJson({ all: false, errors: true }).errors, []);
    assert.equal(await outputOf(join(at, "dist/bundle.cjs"), join(at, "dist")), MESSAGE);
  });
}

for (const [platform, format] of [["browser", "esm"], ["browser", "iife"], ["node", "esm"], ["node", "cjs"]]) {
  test(`esbuild builds for ${platform}, as ${format}`, async () => {
    const at = app("esbuild", "import");
    const outfile = join(at, `dist/bundle.${format === "esm" ? "mjs" : "cjs"}`);
    await esbuild.build({ entryPoints: [join(at, "main.js")], absWorkingDir: at, bundle: true, platform, format, outfile, logLevel: "error" });
    assert.equal(await outputOf(outfile, at), MESSAGE);
  });
}

test("the documentation lists the tested versions", () => {
  const text = readFileSync(join(root, "docs/reference/javascript.md"), "utf8");
  assert.ok(text.includes("Vite 8, webpack 5 and esbuild"));
});

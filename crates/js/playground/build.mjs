// Builds the page in target/playground. With --serve, serves it with the current scripts and styles.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { stringify } from "yaml";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");
const out = process.env.OUT ?? join(root, "target/playground");
const at = (...parts) => join(here, ...parts);
const options = {
  entryPoints: [at("src/main.ts"), at("src/main.css"), at("src/evaluation-worker.ts"), at("src/replay-worker.ts")],
  outdir: out,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  sourcemap: false,
  legalComments: "none",
  logLevel: "warning",
};

await build();
if (process.argv.includes("--serve")) {
  await serve();
}

/** Builds the page for release. */
async function build() {
  mkdirSync(at("generated"), { recursive: true });
  writeFileSync(at("generated/examples.json"), JSON.stringify(await examples()));
  execFileSync(at("../node_modules/.bin/tsc"), ["--project", here], { stdio: "inherit" });
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  cpSync(at("index.html"), join(out, "index.html"));
  cpSync(at("src/icon.svg"), join(out, "icon.svg"));
  cpSync(at("src/sample.ndjson"), join(out, "sample.ndjson"));
  cpSync(join(root, "target/npm/managed_by.wasm"), join(out, "managed_by.wasm"));
  await esbuild.build(options);
}

/** Serves the page. esbuild rebuilds the scripts and styles for each request. */
async function serve() {
  const context = await esbuild.context(options);
  const { port } = await context.serve({ servedir: out, host: "127.0.0.1", port: Number(process.env.PORT ?? 8000) });
  console.log(`http://localhost:${port}/`);
}

/** Returns the requests of `examples/` as inputs of the page. */
async function examples() {
  const { kinds } = await import("managed-by");
  const folder = join(root, "target/examples");
  const topics = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const paths = topics.sort().flatMap((topic) => readdirSync(join(folder, topic)).filter((name) => name.endsWith(".json")).sort().map((name) => join(folder, topic, name)));
  const requests = paths.map((path) => ({ path, request: JSON.parse(readFileSync(path, "utf8")).request }));
  const names = ["Kueue", "MultiKueue", "API", ...kinds().map(({ kind }) => kind), ...requests.map(({ request }) => request.kind.kind)];
  return requests.map(({ path, request }) => example(path, request, names));
}

function example(path, request, names) {
  const topic = basename(dirname(path));
  const yaml = (object) => (object ? stringify(object, { lineWidth: 0 }) : "");
  const operation = request.subResource === "status" ? "status" : request.operation === "UPDATE" ? "update" : "create";
  const name = basename(path, ".json");
  const settings = path.replace(/\.json$/, ".settings.yml");
  return {
    name: `${topic}/${name}`,
    topic,
    title: title(name, names),
    input: {
      operation,
      object: yaml(request.object),
      oldObject: yaml(request.oldObject),
      username: request.userInfo?.username ?? "",
      groups: (request.userInfo?.groups ?? []).join(", "),
      settings: existsSync(settings) ? readFileSync(settings, "utf8") : "",
    },
  };
}

/** Converts a file name such as `02-jobset-with-orphaned-jobs` to a title, with the spelling of the given names. */
function title(name, names) {
  const spelling = new Map(names.flatMap((name) => [name, `${name}s`]).map((name) => [name.toLowerCase(), name]));
  const words = name.replace(/^\d+-/, "").split("-").map((word) => spelling.get(word) ?? word).join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

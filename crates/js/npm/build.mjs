// Writes the package to target/npm, from src/ and what the generator left in generated/.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { compile } from "json-schema-to-typescript";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");
const out = join(root, "target/npm");
const at = (...parts) => join(here, ...parts);

const { settingsSchema } = JSON.parse(readFileSync(at("generated/catalog.json"), "utf8"));
writeFileSync(at("generated/settings.ts"), await settingsTypes(settingsSchema));
writeFileSync(at("generated/evaluation.ts"), await evaluationTypes());
execFileSync(at("../node_modules/.bin/tsc"), ["--project", here], { stdio: "inherit" });

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const banner = { js: "// managed-by, Apache-2.0. Generated: do not edit." };
const common = { bundle: true, target: "es2022", banner, legalComments: "none", logLevel: "warning" };
// The WebAssembly module is inlined in one file per module format (module.mjs, module.cjs), which the entry points import.
const shared = (file) => ({
  name: "module",
  setup: (build) => build.onResolve({ filter: /^\.\/wasm\.js$/ }, () => ({ path: file, external: true })),
});
// The wrapper of clients uses the functions of the entry for Node.
const nodeEntry = { name: "node", setup: (build) => build.onResolve({ filter: /^\.\/api\.js$/ }, () => ({ path: "./node.mjs", external: true })) };
const node = { ...common, platform: "node", entryPoints: [at("src/node.ts")] };
const web = { ...common, platform: "browser", format: "esm" };
await Promise.all([
  esbuild.build({ ...node, format: "esm", plugins: [shared("./module.mjs")], outfile: join(out, "node.mjs") }),
  esbuild.build({ ...node, format: "cjs", plugins: [shared("./module.cjs")], outfile: join(out, "node.cjs") }),
  esbuild.build({ ...node, format: "esm", entryPoints: [at("src/client-node.ts")], external: ["@kubernetes/client-node"], plugins: [nodeEntry], outfile: join(out, "client-node.mjs") }),
  esbuild.build({ ...web, entryPoints: [at("src/web.ts")], outfile: join(out, "web.mjs") }),
  esbuild.build({ ...web, entryPoints: [at("src/browser.ts")], plugins: [shared("./module.mjs")], outfile: join(out, "browser.mjs") }),
]);

const inlined = readFileSync(at("generated/managed_by.wasm"), "base64");
writeFileSync(join(out, "module.mjs"), `${banner.js}\nexport default "${inlined}";\n`);
writeFileSync(join(out, "module.cjs"), `${banner.js}\nmodule.exports = "${inlined}";\n`);

const types = declarations();
writeFileSync(join(out, "index.d.mts"), types);
writeFileSync(join(out, "index.d.cts"), types);
writeFileSync(join(out, "web.d.mts"), `${types}\n${declaration("web")}`);
const imports = 'import type { Observable, RequestContext, ResponseContext } from "@kubernetes/client-node";\nimport type { Settings } from "./index.mjs";\n';
writeFileSync(join(out, "client-node.d.mts"), `${imports}${declaration("client-node")}`);
cpSync(at("generated/managed_by.wasm"), join(out, "managed_by.wasm"));
cpSync(at("src/managed_by.wasm.d.ts"), join(out, "managed_by.wasm.d.ts"));
writeFileSync(join(out, "settings.schema.json"), `${JSON.stringify(settingsSchema, null, 2)}\n`);
cpSync(at("README.md"), join(out, "README.md"));
cpSync(join(root, "LICENSE"), join(out, "LICENSE"));
const version = /^version = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))[1];
const published = { ...JSON.parse(readFileSync(at("published.json"), "utf8")), version };
writeFileSync(join(out, "package.json"), `${JSON.stringify(published, null, 2)}\n`);

// The tests import the package by its name. In a copy, it finds its peer dependency.
rmSync(at("../node_modules/managed-by"), { recursive: true, force: true });
cpSync(out, at("../node_modules/managed-by"), { recursive: true });

/** Generates the TypeScript type of the settings from their schema, without patterns, lengths and counts. */
async function settingsTypes(schema) {
  const typed = (value) => {
    if (Array.isArray(value)) {
      return value.map(typed);
    }
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if ("$ref" in value) {
      const { enum: values } = schema.$defs[value.$ref.replace("#/$defs/", "")];
      return values === undefined ? { type: "string" } : { enum: values };
    }
    const supported = ["type", "enum", "items", "properties", "additionalProperties", "required", "description"];
    const kept = Object.entries(value).filter(([key]) => supported.includes(key));
    const inner = ([key, member]) => [key, key === "properties" ? Object.fromEntries(Object.entries(member).map(([name, property]) => [name, typed(property)])) : typed(member)];
    return Object.fromEntries(kept.map(inner));
  };
  const description = `${schema.title}. All keys are optional, and null is equivalent to an absent key.`;
  return compile({ ...typed(schema), type: "object", description }, "Settings", { bannerComment: "", additionalProperties: false });
}

/** Generates the TypeScript types of evaluations from their schema. */
function evaluationTypes() {
  const schema = JSON.parse(readFileSync(join(root, "docs/evaluation.schema.json"), "utf8"));
  schema.$defs.finding.properties.rule.tsType = "RuleId";
  schema.$defs.releases = { tsType: "string[]" };
  const bannerComment = 'import type { RuleId } from "./types.js";\n';
  return compile({ $ref: schema.$ref, $defs: schema.$defs }, "Evaluation", { bannerComment, additionalProperties: false });
}

/** Concatenates all declarations into one file without imports, for both module formats. */
function declarations() {
  const parts = ["request", "settings", "evaluation", "types", "summary", "error", "api"];
  return parts.map(declaration).join("\n");
}

/** Returns the declarations of one source without imports and re-exports. */
function declaration(name) {
  const file = join(emitted(), ["settings", "evaluation", "types"].includes(name) ? "generated" : "src", `${name}.d.ts`);
  return readFileSync(file, "utf8").replaceAll(/^(import|export (type )?(\{|\*)).*$\n/gm, "");
}

/** Emits the declarations once, and returns their folder. */
function emitted() {
  const folder = at("generated/declarations");
  if (emitted.done !== true) {
    rmSync(folder, { recursive: true, force: true });
    const options = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--outDir", folder];
    execFileSync(at("../node_modules/.bin/tsc"), ["--project", here, "--rootDir", here, ...options], { stdio: "inherit" });
    emitted.done = true;
  }
  return folder;
}

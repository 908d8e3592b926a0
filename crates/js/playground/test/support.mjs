// Opens the built page in the system's browser, from a server that serves it below a path, as GitHub Pages does.
import assert from "node:assert/strict";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, resolve } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const built = join(root, "target/playground");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml" };
const BASE = "/some/where/";

/** Serves the page until it is closed. */
async function serve() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const file = join(built, pathname.endsWith("/") ? "index.html" : pathname.slice(BASE.length));
    if (!pathname.startsWith(BASE) || !file.startsWith(built) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(0, "localhost", done));
  return { url: `http://localhost:${server.address().port}${BASE}`, close: () => server.close() };
}

/** Launches the browser: BROWSER, or one at a common path. */
export async function launch() {
  const candidates = [process.env.BROWSER, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (executablePath === undefined) {
    throw new Error("no browser: install chromium, or name one in BROWSER");
  }
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath, args });
}

/**
 * Starts a server and a browser for the tests of a file. Returns a function that opens the page, calls `act` with it, and fails if the page
 * throws or logs an error, or sends a request to another host. With `prepare`, it may log errors.
 */
export function usePage() {
  let server;
  let browser;
  before(async () => {
    server = await serve();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    server?.close();
  });
  return async (act, { hash = "", prepare, ...options } = {}) => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const page = await context.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && prepare === undefined && problems.push(message.text()));
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "blob:" && !request.url().startsWith(server.url)) {
        problems.push(`request to ${url.href}`);
      }
    });
    try {
      await prepare?.(page, context);
      await page.goto(server.url + hash);
      await page.waitForSelector("body.ready");
      await evaluated(page);
      await act(page, context);
      assert.deepEqual(problems, []);
    } finally {
      await context.close();
    }
  };
}

/** Waits until the page shows the evaluation of its input. */
export const evaluated = (page) => page.waitForSelector('#result[aria-busy="false"]');

/** Returns the text of the first element that matches, after the evaluation. */
async function textOf(page, selector) {
  await evaluated(page);
  return page.locator(selector).first().innerText();
}

export const outcome = (page) => textOf(page, ".headline:not(.overall) .outcome");
export const subject = (page) => textOf(page, ".headline:not(.overall) .subject");
/** Returns the outcome of all objects in the input. */
export const overall = (page) => textOf(page, ".headline.overall .outcome");
export const scopes = async (page) => {
  await evaluated(page);
  return (await page.locator(".headline:not(.overall) .scope").allInnerTexts()).join("\n");
};
export const printed = (page) => textOf(page, ".terminal pre");
export const editor = (page) => page.locator("#panel-object .cm-content");

/** Pastes text into the open editor. */
export async function paste(page, text) {
  await page.locator('[role="tabpanel"]:not([hidden]) .cm-content').click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await evaluated(page);
}

/** Selects an option, and waits for the evaluation. */
export async function select(page, selector, value) {
  await page.selectOption(selector, value);
  await evaluated(page);
}

/** Returns the fragment of a link to an input. */
export function fragmentOf(input) {
  const whole = { operation: "create", object: "", oldObject: "", username: "", groups: "", settings: "", ...input };
  return `#q1=${deflateRawSync(JSON.stringify(whole)).toString("base64url")}`;
}

/** Opens an input by its link, and waits for the evaluation. */
export async function load(page, input) {
  await page.evaluate((hash) => {
    document.querySelector("#result").setAttribute("aria-busy", "true");
    location.hash = hash;
  }, fragmentOf(input));
  await evaluated(page);
}

export const JOB = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: pi\nspec:\n  managedBy: kueue.x-k8s.io/multikueue\n";

/** Returns the library's response to each example, by name. */
export function responses() {
  const lines = readFileSync(join(root, "target/expected.ndjson"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  return new Map(lines.filter(({ name }) => /^[a-z-]+\/\d\d-/.test(name)).map((line) => [line.name, line]));
}

/** Generates a history of at least the given size: recordings with new UIDs, each followed by a Job whose update is denied. */
export function history(bytes) {
  const traces = ["jobs-1.36", "jobset-0.12", "kuberay-1.7", "training-operator-1.9"].map((trace) => readFileSync(join(root, `parity/traces/${trace}.ndjson`), "utf8"));
  const failing = (n) => {
    const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: `broken-${n}`, namespace: "default", uid: `broken-${n}` }, spec: { managedBy: "a.io/x" } };
    const event = (type, resourceVersion, failed) => JSON.stringify({ type, object: { ...job, metadata: { ...job.metadata, resourceVersion }, status: { failed } } });
    return `${event("ADDED", "1", 2)}\n${event("MODIFIED", "2", 1)}\n`;
  };
  const parts = [];
  for (let n = 0, size = 0; size < bytes; n += 1) {
    const part = traces[n % traces.length].replaceAll(/"uid":"([^"]*)"/g, `"uid":"$1-${n}"`) + failing(n);
    parts.push(part);
    size += part.length;
  }
  return Buffer.from(parts.join(""));
}

// A server of the built page below a path, as GitHub Pages serves it, and the system's browser.
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const built = join(root, "target/playground");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".woff2": "font/woff2" };
const BASE = "/some/where/";

/** Serves the page until it is closed. */
export async function serve() {
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
  const places = [process.env.BROWSER, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];
  const executablePath = places.find((place) => place && existsSync(place));
  if (executablePath === undefined) {
    throw new Error("no browser: install chromium, or name one in BROWSER");
  }
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath, args });
}

/** Returns the library's response to each example, by name. */
export function responses() {
  const lines = readFileSync(join(root, "target/expected.ndjson"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  return new Map(lines.filter(({ name }) => /^[a-z]+\/\d\d-/.test(name)).map((line) => [line.name, line]));
}

/** Generates a history of the given size from recordings with new object names. */
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

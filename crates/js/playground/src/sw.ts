// Caches the page for offline use. The build inserts the list of files and the version.
declare const FILES: string[];
declare const VERSION: string;

const worker = self as unknown as ServiceWorkerGlobalScope;
const CACHE = `managed-by-playground-${VERSION}`;

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })))).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  const old = caches.keys().then((keys) => Promise.all(keys.filter((key) => key.startsWith("managed-by-playground-") && key !== CACHE).map((key) => caches.delete(key))));
  event.waitUntil(old.then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && new URL(event.request.url).origin === worker.location.origin) {
    event.respondWith(caches.match(event.request, { ignoreSearch: true, cacheName: CACHE }).then((kept) => kept ?? fetch(event.request)));
  }
});

interface ServiceWorkerGlobalScope {
  location: Location;
  clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: { waitUntil(promise: Promise<unknown>): void }) => void): void;
  addEventListener(type: "fetch", listener: (event: { request: Request; respondWith(response: Promise<Response>): void }) => void): void;
}

// Checks the writes of a client of @kubernetes/client-node.
import { isDeepStrictEqual } from "node:util";
import { Observable, type RequestContext, ResponseContext, SelfDecodingBody } from "@kubernetes/client-node";
import type { Verdict } from "../generated/evaluation.js";
import type { Settings } from "../generated/settings.js";
import { kinds, releases as allReleases, releasesWithManagedByOnByDefault, review } from "./api.js";

/** Options of a `WriteChecker`. */
export interface WriteCheckerOptions {
  /** Kubernetes releases to evaluate, as for `lint`; by default `releasesWithManagedByOnByDefault()`. */
  releases?: string;
  /** Settings of the policy, for example `custom_kinds` or `status_writers`. */
  settings?: Settings | string;
  /** User who makes the writes, for settings that list status writers. */
  username?: string;
  groups?: string[];
  /** Makes updates of objects that name another controller, or none, failures. */
  controller?: string;
  /** Permits a test without an evaluated write. */
  allowNoWrites?: boolean;
}

/** The part of `KubeConfig` that makes clients. */
export interface ClientFactory {
  makeApiClient: unknown;
}

/** The part of client-node's `HttpLibrary` that sends requests. */
export interface HttpSender {
  send(request: RequestContext): Observable<ResponseContext>;
}

type Fields = Record<string, unknown>;
/** Method of a client that sends an object. */
type Call = (object: Fields | undefined, ...options: unknown[]) => Promise<unknown>;

/** A write to an object or its status. */
interface Write {
  method: string;
  path: string;
  group: string;
  version: string;
  plural: string;
  namespace: string;
  isStatus: boolean;
  /** URL of the stored object; undefined for a create. */
  storedUrl: string | undefined;
  /** Kind, if the library has rules for it. */
  kind: string | undefined;
}

/**
 * Checks every write of a client in the tests of a controller. If a release would deny a write, the code under test gets the API server's
 * error, and the write is not sent. Only the API server can compute the result of a server-side apply, a strategic merge patch and a JSON
 * patch, so these are sent first.
 *
 * ```js
 * const checker = new WriteChecker();
 * const jobs = checker.wrap(kubeConfig).makeApiClient(BatchV1Api);
 * // ... run the controller with this client ...
 * checker.assertConforms();
 * ```
 */
export class WriteChecker {
  /** Findings that make a release deny a write, and the API server's own errors if it rejects a write of a kind with rules as invalid. */
  readonly failures: string[] = [];
  /** Findings that only warn, such as statuses that the API server accepts and clients misinterpret, and changes that the API server ignores. */
  readonly warnings: string[] = [];
  /** Writes that could not be evaluated, each with the reason. */
  readonly notEvaluated: string[] = [];
  /** Number of evaluated writes. */
  evaluatedCount = 0;

  readonly #options: Required<WriteCheckerOptions>;
  /** The settings may declare kinds, whose resources are unknown. */
  readonly #hasSettings: boolean;
  /** Writes that have begun and not ended. */
  readonly #pending: string[] = [];

  constructor(options: WriteCheckerOptions = {}) {
    this.#options = { releases: releasesWithManagedByOnByDefault().join(","), settings: {}, username: "", groups: [], controller: "", allowNoWrites: false, ...options };
    this.#hasSettings = options.settings !== undefined;
    // Reports invalid options here, not in the first write.
    review("", this.#options.settings, { releases: this.#options.releases });
  }

  /** Makes a `KubeConfig` return clients whose writes are checked, and returns it. */
  wrap<C extends ClientFactory>(config: C): C {
    type Configuration = { httpApi: HttpSender; baseServer: { makeRequestContext(path: string, method: never): RequestContext } };
    const makeApiClient = (config.makeApiClient as (type: unknown) => object).bind(config);
    const check = ({ httpApi, baseServer }: Configuration): Configuration => ({
      httpApi: this.httpApi(httpApi),
      // Clients create the request in the call, and send it later.
      baseServer: {
        makeRequestContext: (path, method) => {
          const request = baseServer.makeRequestContext(path, method);
          const write = writeOf(request);
          if (write !== undefined) {
            this.#pending.push(write);
          }
          return request;
        },
      },
    });
    config.makeApiClient = (type: new (configuration: Configuration) => object) => {
      const client = makeApiClient(function (configuration: Configuration) {
        return new type({ ...configuration, ...check(configuration) });
      });
      this.#track(client as Record<string, Call | undefined>);
      return client;
    };
    return config;
  }

  /** Wraps the `httpApi` of a configuration that the code under test creates itself. */
  httpApi(sender: HttpSender): HttpSender {
    return {
      send: (request) => {
        const write = writeOf(request);
        // By name, because a middleware may have replaced the request that the client created.
        if (write !== undefined && !this.#pending.includes(write)) {
          this.#pending.push(write);
        }
        return new Observable(this.#send(sender, request).finally(() => this.#end(write)));
      },
    };
  }

  /** Throws an error unless at least one write was evaluated, each write with rules has ended and was evaluated, and no release denies one. */
  assertConforms(): void {
    if (this.failures.length > 0) {
      throw new Error(`denied writes:\n${this.failures.join("\n")}`);
    }
    if (this.notEvaluated.length > 0) {
      throw new Error(`writes that were not evaluated:\n${this.notEvaluated.join("\n")}`);
    }
    if (this.#pending.length > 0) {
      throw new Error(`writes that have not ended (await them):\n${this.#pending.join("\n")}`);
    }
    if (this.evaluatedCount === 0 && !this.#options.allowNoWrites) {
      throw new Error("no write was evaluated: the code under test uses another client, writes only kinds without rules, or the API server rejected its writes");
    }
  }

  /** Throws an error if there are warnings. */
  assertNoWarnings(): void {
    if (this.warnings.length > 0) {
      throw new Error(`warnings:\n${this.warnings.join("\n")}`);
    }
  }

  /** Counts the writes of KubernetesObjectApi from the call on, because it discovers the resource before it creates the request. */
  #track(client: Record<string, Call | undefined>): void {
    for (const method of ["create", "patch", "replace"]) {
      const call = client[method]?.bind(client);
      if (call !== undefined) {
        client[method] = (object, ...options) => {
          const isKnown = kinds().some(({ kind }) => kind === object?.["kind"]);
          const write = isKnown ? `${method} ${String(object?.["kind"])} ${nameOf(object ?? {}) ?? ""}` : undefined;
          this.#pending.push(...(write === undefined ? [] : [write]));
          return call(object, ...options).finally(() => this.#end(write));
        };
      }
    }
  }

  #end(write: string | undefined): void {
    const index = this.#pending.findIndex((pending) => pending === write);
    this.#pending.splice(index, index < 0 ? 0 : 1);
  }

  async #send(sender: HttpSender, request: RequestContext): Promise<ResponseContext> {
    const write = parse(request);
    if (write === undefined || (write.kind === undefined && !this.#hasSettings)) {
      return sender.send(request).toPromise();
    }
    let old: Fields | undefined;
    if (write.storedUrl !== undefined) {
      const stored = await sender.send(getRequest(request, write.storedUrl)).toPromise();
      const text = await stored.body.text();
      if (stored.httpStatusCode === 200) {
        old = JSON.parse(text) as Fields;
      } else if (stored.httpStatusCode !== 404) {
        this.#addNotEvaluated(write, `failed to get the stored object: ${stored.httpStatusCode}`);
        return sender.send(request).toPromise();
      }
    }
    const result = resultOf(write, request, old);
    const denial = result === undefined ? undefined : this.#check(write, old, result);
    if (denial !== undefined) {
      return denial;
    }
    const response = await sender.send(request).toPromise();
    const isInvalid = response.httpStatusCode === 422 && write.kind !== undefined;
    const isComputed = result === undefined && response.httpStatusCode < 300;
    if (!isComputed && !isInvalid) {
      return response;
    }
    const text = await response.body.text();
    const object = parseObject(text);
    if (isInvalid) {
      this.failures.push(`${write.method} ${write.path}: ${String(object?.["message"] ?? "rejected by the API server")}`);
    } else if (object === undefined || object["kind"] !== (write.kind ?? old?.["kind"] ?? object["kind"])) {
      this.#addNotEvaluated(write, "the response does not contain the object");
    } else if (write.isStatus && old === undefined) {
      this.#addNotEvaluated(write, "the stored object was not found");
    } else {
      const sent = merge(old, parseObject(String(request.getBody())) ?? {});
      const denied = this.#check(write, old, object, sent as Fields);
      if (denied !== undefined) {
        return denied;
      }
    }
    return new ResponseContext(response.httpStatusCode, response.headers, bodyOf(text));
  }

  /** Evaluates a write. Returns the response of the newest release that denies it. */
  #check(write: Write, old: Fields | undefined, result: Fields, sent = result): ResponseContext | undefined {
    const { releases, settings, username, groups, controller } = this.#options;
    const { group, version, plural, namespace, isStatus } = write;
    const kind = write.kind ?? String(old?.["kind"] ?? result["kind"] ?? "");
    const name = nameOf(result) ?? (old === undefined ? undefined : nameOf(old)) ?? "";
    // The API server takes the status only from writes of the status, and everything else only from the other writes.
    const object = isStatus && old !== undefined ? withStatusOf(old, result) : withStatusOf(result, old);
    const request = {
      operation: old === undefined ? "CREATE" : "UPDATE", kind: { group, version, kind }, resource: { group, version, resource: plural },
      ...(isStatus ? { subResource: "status" } : {}), name, namespace, userInfo: { username, groups }, object, oldObject: old ?? null,
    } as const;
    const verdict = review(request, settings, { releases });
    if (verdict.code === 400) {
      this.#addNotEvaluated(write, verdict.message ?? "malformed");
      return undefined;
    }
    // With settings, the checker also sees kinds without rules.
    const unchecked = verdict.unchecked.filter(({ reason }) => reason !== "unsupported-kind");
    for (const { message } of unchecked) {
      this.#addNotEvaluated(write, message);
    }
    if (!("mode" in verdict.auditAnnotations)) {
      return undefined;
    }
    this.evaluatedCount += 1;
    // A finding of kube-apiserver is a failure even if it only warns, because some patch release denies the write.
    for (const { enforcement, upstream, message, rule, releaseRange } of verdict.findings) {
      const list = enforcement === "deny" || upstream ? this.failures : this.warnings;
      list.push(`${write.method} ${write.path}: ${message}${releaseRange === undefined ? "" : ` (kube-apiserver ${releaseRange})`} [${rule}]`);
    }
    const named = verdict.auditAnnotations["controller"] ?? '""';
    if (controller !== "" && old !== undefined && named !== JSON.stringify(controller)) {
      this.failures.push(`${write.method} ${write.path}: the object names the controller ${named}, not "${controller}"`);
    }
    const ignored = isStatus ? "spec" : "status";
    const isVersioned = Boolean(metadataOf(sent)["resourceVersion"]);
    if (isStatus && write.method === "PUT" && !isVersioned) {
      this.warnings.push(`${write.method} ${write.path}: no resourceVersion: the write overwrites changes since the object was read`);
    }
    if (old !== undefined && isChanged(sent[ignored], old[ignored]) && (!isStatus || isVersioned)) {
      this.warnings.push(`${write.method} ${write.path}: the changed ${ignored} is ignored: write the ${isStatus ? "object" : "status"}`);
    }
    const denials = verdict.releaseVerdicts?.filter(({ allowed }) => !allowed) ?? [];
    const newest = allReleases().findLast((release) => denials.some((denial) => denial.releases.includes(release)));
    const denial = denials.find((shared) => shared.releases.includes(newest ?? ""));
    return denial === undefined ? undefined : denialOf(denial, { group, kind, name });
  }

  #addNotEvaluated(write: Write, reason: string): void {
    this.notEvaluated.push(`${write.method} ${write.path}: ${reason}`);
  }
}

/** Returns the method and path of a write to a kind with rules. */
function writeOf(request: RequestContext): string | undefined {
  const write = parse(request);
  return write?.kind === undefined ? undefined : `${write.method} ${write.path}`;
}

/** Parses a write. Returns undefined for reads, deletions, other subresources and the core API group, which have no rules. */
function parse(request: RequestContext): Write | undefined {
  const method = String(request.getHttpMethod());
  const url = new URL(request.getUrl());
  const match = /\/apis\/([^/]+)\/([^/]+)\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(url.pathname);
  if (match === null) {
    return undefined;
  }
  const [, group = "", version = "", namespace = "", plural = "", name, subResource] = match;
  const isWrite = name === undefined ? method === "POST" : method === "PUT" || method === "PATCH";
  if (!isWrite || (subResource !== undefined && subResource !== "status")) {
    return undefined;
  }
  const kind = kinds().find((known) => known.group === group && known.plural === plural)?.kind;
  const storedPath = subResource === undefined ? url.pathname : url.pathname.slice(0, -"/status".length);
  const storedUrl = name === undefined ? undefined : new URL(storedPath, url).href;
  return { method, path: url.pathname, group, version, plural, namespace, isStatus: subResource !== undefined, storedUrl, kind };
}

/** Returns a request for the stored object with the credentials and the connection of a write, in any version of client-node. */
function getRequest(request: RequestContext, url: string): RequestContext {
  const headers = Object.entries(request.getHeaders()).filter(([name]) => name.toLowerCase() !== "content-type");
  const overrides = { getUrl: () => url, getHttpMethod: () => "GET", getBody: () => undefined, getHeaders: () => Object.fromEntries(headers) };
  return Object.assign(Object.create(request) as RequestContext, overrides);
}

/** Returns the object that a write produces; undefined if only the API server can compute it, or if it rejects the write before it validates the object. */
function resultOf(write: Write, request: RequestContext, old: Fields | undefined): Fields | undefined {
  const body = request.getBody();
  const sent = typeof body === "string" ? parseObject(body) : undefined;
  const isMergePatch = Object.entries(request.getHeaders()).some(([name, value]) => name.toLowerCase() === "content-type" && value.startsWith("application/merge-patch+json"));
  const result = write.method === "PATCH" ? (isMergePatch && old !== undefined && sent !== undefined ? (merge(old, sent) as Fields) : undefined) : sent;
  if (result === undefined || write.storedUrl === undefined) {
    return result;
  }
  const differs = (field: string): boolean => {
    const [value, stored] = [metadataOf(result)[field], old && metadataOf(old)[field]];
    return value !== undefined && value !== "" && value !== stored;
  };
  return old === undefined || ["resourceVersion", "uid", "name"].some(differs) ? undefined : result;
}

/** Applies a JSON merge patch (RFC 7386, section 2). */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) {
    return patch;
  }
  const result: Fields = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) {
      delete result[name];
    } else {
      result[name] = merge(result[name], value);
    }
  }
  return result;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true if a part of an object is sent and differs from the stored one. */
function isChanged(sent: unknown, stored: unknown): boolean {
  return isObject(sent) && Object.keys(sent).length > 0 && !isDeepStrictEqual(sent, stored);
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function metadataOf({ metadata }: Fields): Fields {
  return isObject(metadata) ? metadata : {};
}

function nameOf(object: Fields): string | undefined {
  const { name } = metadataOf(object);
  return typeof name === "string" ? name : undefined;
}

/** Returns an object with the status of another, or without one. */
function withStatusOf({ status: _, ...object }: Fields, other: Fields | undefined): Fields {
  return other?.["status"] === undefined ? object : { ...object, status: other["status"] };
}

const REASONS: Record<number, string> = { 403: "Forbidden", 422: "Invalid" };

/** Returns the API server's response to a denied write. */
function denialOf({ code = 422, message }: Verdict, details: Fields): ResponseContext {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: REASONS[code] ?? "", code, message, details };
  return new ResponseContext(code, { "content-type": "application/json" }, bodyOf(JSON.stringify(status)));
}

function bodyOf(text: string): SelfDecodingBody {
  return new SelfDecodingBody(Promise.resolve(Buffer.from(text)));
}

// The input of the page, and its encoding in a link.

export type Operation = "create" | "update" | "status";

export interface Input {
  operation: Operation;
  /** YAML or JSON. */
  object: string;
  /** Stored object, for updates. */
  oldObject: string;
  username: string;
  /** Comma-separated. */
  groups: string;
  settings: string;
  /** Release to evaluate; by default the newest, or the one that the settings name. */
  release?: string;
}

export const EMPTY: Input = { operation: "create", object: "", oldObject: "", username: "", groups: "", settings: "" };

/** Default input: a valid object with a typo in `managedBy`. */
export const DEFAULT_INPUT: Input = {
  ...EMPTY,
  object: `apiVersion: batch/v1
kind: Job
metadata: {name: pi, namespace: default}
spec:
  managedBy: kubernetes.io/job-controler
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: pi, image: "perl:5.34"}
`,
};

/** Version of the link format. */
const PREFIX = "q1=";

/** Encodes the input as a URL fragment: deflated JSON in base64url. */
export async function toFragment(input: Input): Promise<string> {
  const bytes = await pipeThrough(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(input)));
  let binary = "";
  for (const byte of bytes) {
    binary += String.fromCharCode(byte);
  }
  return PREFIX + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns true if a fragment contains an encoded input. */
export function isShared(fragment: string): boolean {
  return fragment.replace(/^#/, "").startsWith(PREFIX);
}

/** Decodes the input in a fragment, or returns undefined if there is no valid one. */
export async function fromFragment(fragment: string): Promise<Input | undefined> {
  const text = fragment.replace(/^#/, "");
  if (!text.startsWith(PREFIX)) {
    return undefined;
  }
  try {
    const binary = atob(text.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await pipeThrough(new DecompressionStream("deflate-raw"), Uint8Array.from(binary, (c) => c.charCodeAt(0)));
    return parseInput(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return undefined;
  }
}

async function pipeThrough(stream: CompressionStream | DecompressionStream, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

/** Validates untrusted input from a link. Invalid fields become empty. */
export function parseInput(value: unknown): Input | undefined {
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const fields = value as Record<string, unknown>;
  const text = (key: string): string => (typeof fields[key] === "string" ? fields[key] : "");
  const operation = text("operation");
  return {
    operation: operation === "update" || operation === "status" ? operation : "create",
    object: text("object"),
    oldObject: text("oldObject"),
    username: text("username"),
    groups: text("groups"),
    settings: text("settings"),
    ...(text("release") === "" ? {} : { release: text("release") }),
  };
}

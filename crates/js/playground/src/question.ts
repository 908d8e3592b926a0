// The question in the editors, and its encoding in a link.

export type Operation = "create" | "update" | "status";

export interface Question {
  operation: Operation;
  /** YAML or JSON. */
  object: string;
  /** The object stored, of an update. */
  oldObject: string;
  username: string;
  /** Divided by commas. */
  groups: string;
  settings: string;
  /** The release that is asked; without it the newest, or the one that the settings name. */
  release?: string;
}

export const EMPTY: Question = { operation: "create", object: "", oldObject: "", username: "", groups: "", settings: "" };

/** Default question: a valid object with a typo in `managedBy`. */
export const FIRST: Question = {
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

/** The version of what a link carries. */
const PREFIX = "q1=";

/** The question as the fragment of a URL: JSON, deflated, in the letters that URLs leave alone. */
export async function toFragment(question: Question): Promise<string> {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(question)));
  let binary = "";
  for (const byte of bytes) {
    binary += String.fromCharCode(byte);
  }
  return PREFIX + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns true if a fragment has the prefix of a question. */
export function isShared(fragment: string): boolean {
  return fragment.replace(/^#/, "").startsWith(PREFIX);
}

/** The question in a fragment, if there is one that makes sense. */
export async function fromFragment(fragment: string): Promise<Question | undefined> {
  const text = fragment.replace(/^#/, "");
  if (!text.startsWith(PREFIX)) {
    return undefined;
  }
  try {
    const binary = atob(text.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(binary, (c) => c.charCodeAt(0)));
    return checked(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return undefined;
  }
}

async function through(stream: CompressionStream | DecompressionStream, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

/** A link comes from anybody: what is not as it should be is left empty. */
export function checked(value: unknown): Question | undefined {
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const given = value as Record<string, unknown>;
  const text = (key: string): string => (typeof given[key] === "string" ? given[key] : "");
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

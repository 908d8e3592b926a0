// State diagram of a Job's status. The package evaluates which transitions are allowed.
import { type AdmissionRequest, diff, type Settings } from "managed-by/web";
import { verdictOf } from "./result.js";
import { h, svg } from "./dom.js";

type StateId = "none" | "running" | "suspended" | "criteria" | "target" | "complete" | "failed";

/** Media query for narrow windows. The style sheet uses the same width. */
export const NARROW = "(max-width: 56rem)";

interface State {
  label: string;
  /** Description below the label. */
  about: string;
  status: object;
}

const START = { startTime: "2026-01-01T00:00:00Z" };
const END = { completionTime: "2026-01-01T01:00:00Z" };
const condition = (type: string): object => ({ type, status: "True", lastTransitionTime: "2026-01-01T01:00:00Z" });

/** Each state with a status that is in it, as the Job controller writes it. */
const STATES: Record<StateId, State> = {
  none: { label: "Not started", about: "no start time", status: {} },
  running: { label: "Running", about: "start time", status: { ...START, active: 1 } },
  suspended: { label: "Suspended", about: "no start time", status: { conditions: [condition("Suspended")] } },
  criteria: { label: "Succeeding", about: "SuccessCriteriaMet", status: { ...START, active: 1, conditions: [condition("SuccessCriteriaMet")] } },
  target: { label: "Failing", about: "FailureTarget", status: { ...START, active: 1, conditions: [condition("FailureTarget")] } },
  complete: { label: "Complete", about: "for ever", status: { ...START, ...END, succeeded: 1, conditions: [condition("SuccessCriteriaMet"), condition("Complete")] } },
  failed: { label: "Failed", about: "for ever", status: { ...START, failed: 1, conditions: [condition("FailureTarget"), condition("Failed")] } },
};

/** Layout of the boxes: from left to right in a wide window, downwards in a narrow one. */
interface Layout {
  /** Grid position of each state. */
  places: Record<StateId, { along: number; across: number }>;
  isDown: boolean;
  /** Distance between states. */
  pitch: number;
  viewBox: string;
  /** Positions of curves that pass other boxes: on the near side, or on the far side for boxes beyond `middle`. */
  bow: { near: number; far: number; middle: number };
}

const WIDTH = 120;
const HEIGHT = 46;

const WIDE: Layout = {
  places: {
    none: { along: 20, across: 100 },
    running: { along: 200, across: 100 },
    suspended: { along: 200, across: 190 },
    criteria: { along: 380, across: 30 },
    target: { along: 380, across: 170 },
    complete: { along: 560, across: 30 },
    failed: { along: 560, across: 170 },
  },
  isDown: false,
  pitch: 180,
  viewBox: "8 -8 684 262",
  bow: { near: -2, far: 244, middle: 100 },
};

const DOWN: Layout = {
  places: {
    none: { along: 24, across: 84 },
    running: { along: 114, across: 84 },
    suspended: { along: 114, across: 238 },
    criteria: { along: 204, across: 24 },
    target: { along: 204, across: 184 },
    complete: { along: 294, across: 24 },
    failed: { along: 294, across: 184 },
  },
  isDown: true,
  pitch: 90,
  viewBox: "0 -8 372 356",
  bow: { near: 4, far: 366, middle: 100 },
};

/** Transitions to draw as arrows if they are allowed. */
const WAY: [StateId, StateId][] = [
  ["none", "running"],
  ["none", "suspended"],
  ["running", "suspended"],
  ["suspended", "running"],
  ["running", "criteria"],
  ["running", "target"],
  ["criteria", "complete"],
  ["target", "failed"],
];

/** Returns the state of a status. */
export function stateOf(status: unknown): StateId {
  const { conditions, startTime } = (status ?? {}) as { conditions?: unknown; startTime?: unknown };
  const held = new Set<unknown>();
  for (const entry of Array.isArray(conditions) ? conditions : []) {
    const { type, status: value } = (entry ?? {}) as { type?: unknown; status?: unknown };
    if (value === "True") {
      held.add(type);
    }
  }
  if (held.has("Complete")) return "complete";
  if (held.has("Failed")) return "failed";
  if (held.has("SuccessCriteriaMet")) return "criteria";
  if (held.has("FailureTarget")) return "target";
  if (held.has("Suspended")) return "suspended";
  return startTime === undefined || startTime === null ? "none" : "running";
}

function job(status: object, suspend: boolean): object {
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name: "pi" }, spec: { managedBy: "example.com/controller", completions: 1, suspend }, status };
}

/** Returns true if a release allows a status update from one state to another. */
function isAllowed(from: StateId, to: StateId, settings: Settings | string, release: string): boolean {
  const suspend = from === "suspended" || to === "suspended";
  const result = diff(job(STATES[from].status, suspend), job(STATES[to].status, suspend), settings, { subResource: "status", releases: "all" });
  return result.objects.every((evaluated) => verdictOf(evaluated, release).allowed);
}

/** Draws the diagram for a status update: the allowed transitions, and the requested one. */
export function machine(request: AdmissionRequest, isTakenAllowed: boolean, settings: Settings | string, release: string): HTMLElement | undefined {
  if (request.kind.kind !== "Job" || request.kind.group !== "batch" || request.subResource !== "status") {
    return undefined;
  }
  const statusOf = (object: object | null | undefined): unknown => (object as { status?: unknown } | null | undefined)?.status;
  const layout = matchMedia(NARROW).matches ? DOWN : WIDE;
  const from = stateOf(statusOf(request.oldObject));
  const to = stateOf(statusOf(request.object));
  const verdict = isTakenAllowed ? "allowed" : "forbidden";
  const way = WAY.filter(([a, b]) => !(a === from && b === to) && isAllowed(a, b, settings, release));
  const step = from === to ? `stays ${STATES[from].label}` : `goes from ${STATES[from].label} to ${STATES[to].label}`;
  const sentence = `The Job ${step}: ${verdict}.`;
  const states = (Object.entries(STATES) as [StateId, State][]).map(([id, state]) => box(state, corner(layout, id), id === from, id === to, verdict));
  const picture = svg(
    "svg",
    { viewBox: layout.viewBox, role: "img", "aria-label": `${sentence} Grey arrows are the steps that are allowed otherwise.`, class: layout.isDown ? "machine down" : "machine" },
    svg("defs", {}, arrowHead("way"), arrowHead("allowed"), arrowHead("forbidden")),
    ...way.map(([a, b]) => arrow(layout, a, b, "way")),
    ...states,
    from === to ? loop(corner(layout, to), verdict) : arrow(layout, from, to, verdict),
  );
  return h("figure", {}, picture, h("figcaption", {}, sentence));
}

function arrowHead(kind: string): SVGElement {
  const shape = svg("path", { d: "M0 0 8 4 0 8z", class: `head ${kind}` });
  return svg("marker", { id: `head-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, shape);
}

/** Returns the upper left corner of a box. */
function corner({ places, isDown }: Layout, id: StateId): { x: number; y: number } {
  const { along, across } = places[id];
  return isDown ? { x: across, y: along } : { x: along, y: across };
}

function box(state: State, { x, y }: { x: number; y: number }, isFrom: boolean, isTo: boolean, verdict: string): SVGElement {
  const classes = ["state", isFrom && "from", isTo && `to ${verdict}`].filter((name) => name !== false).join(" ");
  const middle = x + WIDTH / 2;
  return svg(
    "g",
    { class: classes },
    svg("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
    svg("text", { x: middle, y: y + 19, class: "label" }, state.label),
    svg("text", { x: middle, y: y + 35, class: "about" }, state.about),
  );
}

/** Draws a transition between two boxes, as a curve if it goes back or passes another box. */
function arrow(layout: Layout, from: StateId, to: StateId, kind: string): SVGElement {
  const { isDown, pitch, bow } = layout;
  const [a, b] = [layout.places[from], layout.places[to]];
  const [length, breadth] = isDown ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT];
  const point = (along: number, across: number): string => (isDown ? `${across} ${along}` : `${along} ${across}`);
  const path = { class: `step ${kind}`, "marker-end": `url(#head-${kind})` };
  if (a.along === b.along) {
    // Neighboring boxes have one lane per direction.
    const isForth = a.across < b.across;
    const lane = a.along + length / 2 + (isForth ? -1 : 1) * Math.min(14, length / 4);
    const [start, end] = isForth ? [a.across + breadth, b.across - 2] : [a.across, b.across + breadth + 2];
    return svg("path", { ...path, d: `M${point(lane, start)} L${point(lane, end)}` });
  }
  const isOn = a.along < b.along;
  const [middleOfA, middleOfB] = [a.across + breadth / 2, b.across + breadth / 2];
  if (!isOn || Math.abs(a.along - b.along) > pitch * 1.5) {
    const isNear = Math.min(a.across, b.across) <= bow.middle;
    const edge = isNear ? bow.near : bow.far;
    const [alongA, alongB] = [a.along + length / 2, b.along + length / 2];
    const [start, end] = isNear ? [a.across, b.across - 2] : [a.across + breadth, b.across + breadth + 2];
    return svg("path", { ...path, d: `M${point(alongA, start)} C${point(alongA, edge)} ${point(alongB, edge)} ${point(alongB, end)}` });
  }
  const [start, end] = [a.along + length, b.along - 2];
  const bend = (start + end) / 2;
  return svg("path", { ...path, d: `M${point(start, middleOfA)} C${point(bend, middleOfA)} ${point(bend, middleOfB)} ${point(end, middleOfB)}` });
}

function loop({ x: left, y }: { x: number; y: number }, kind: string): SVGElement {
  const x = left + WIDTH / 2;
  return svg("path", { class: `step ${kind}`, "marker-end": `url(#head-${kind})`, d: `M${x - 18} ${y} C${x - 30} ${y - 30} ${x + 30} ${y - 30} ${x + 18} ${y - 2}` });
}

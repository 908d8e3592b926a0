// The states of a Job's status as a picture. Which steps are allowed is asked of the package: nothing here knows a rule.
import { type AdmissionRequest, diff, type Settings } from "managed-by/web";
import { h, svg } from "./dom.js";

type StateId = "none" | "running" | "suspended" | "criteria" | "target" | "complete" | "failed";

interface State {
  label: string;
  /** What people call it, below the label. */
  about: string;
  x: number;
  y: number;
  status: object;
}

const START = { startTime: "2026-01-01T00:00:00Z" };
const END = { completionTime: "2026-01-01T01:00:00Z" };
const condition = (type: string): object => ({ type, status: "True", lastTransitionTime: "2026-01-01T01:00:00Z" });

/** Each state with a status that is in it, as the Job controller writes it. */
const STATES: Record<StateId, State> = {
  none: { label: "Not started", about: "no start time", x: 20, y: 100, status: {} },
  running: { label: "Running", about: "start time", x: 200, y: 100, status: { ...START, active: 1 } },
  suspended: { label: "Suspended", about: "no start time", x: 200, y: 190, status: { conditions: [condition("Suspended")] } },
  criteria: { label: "Succeeding", about: "SuccessCriteriaMet", x: 380, y: 30, status: { ...START, active: 1, conditions: [condition("SuccessCriteriaMet")] } },
  target: { label: "Failing", about: "FailureTarget", x: 380, y: 170, status: { ...START, active: 1, conditions: [condition("FailureTarget")] } },
  complete: { label: "Complete", about: "for ever", x: 560, y: 30, status: { ...START, ...END, succeeded: 1, conditions: [condition("SuccessCriteriaMet"), condition("Complete")] } },
  failed: { label: "Failed", about: "for ever", x: 560, y: 170, status: { ...START, failed: 1, conditions: [condition("FailureTarget"), condition("Failed")] } },
};

const WIDTH = 120;
const HEIGHT = 46;

/** The steps worth an arrow: the way of a Job. One is drawn if it is allowed. */
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

/** The state that a status is in. */
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

/** Whether the policy lets a Job go from one state to another. */
function isAllowed(from: StateId, to: StateId, settings: Settings | string): boolean {
  const suspend = from === "suspended" || to === "suspended";
  const answer = diff(job(STATES[from].status, suspend), job(STATES[to].status, suspend), settings, { subResource: "status" });
  return answer.objects.every((judged) => judged.verdict.allowed);
}

/** The picture for an update of a Job's status: the steps that are allowed, and the one that is taken. */
export function machine(request: AdmissionRequest, isTakenAllowed: boolean, settings: Settings | string): HTMLElement | undefined {
  if (request.kind.kind !== "Job" || request.kind.group !== "batch" || request.subResource !== "status") {
    return undefined;
  }
  const statusOf = (object: object | null | undefined): unknown => (object as { status?: unknown } | null | undefined)?.status;
  const from = stateOf(statusOf(request.oldObject));
  const to = stateOf(statusOf(request.object));
  const verdict = isTakenAllowed ? "allowed" : "forbidden";
  const way = WAY.filter(([a, b]) => !(a === from && b === to) && isAllowed(a, b, settings));
  const step = from === to ? `stays ${STATES[from].label}` : `goes from ${STATES[from].label} to ${STATES[to].label}`;
  const sentence = `The Job ${step}: ${verdict}.`;
  const states = (Object.entries(STATES) as [StateId, State][]).map(([id, state]) => box(state, id === from, id === to, verdict));
  const picture = svg(
    "svg",
    { viewBox: "8 -8 684 262", role: "img", "aria-label": `${sentence} Grey arrows are the steps that are allowed otherwise.`, class: "machine" },
    svg("defs", {}, arrowHead("way"), arrowHead("allowed"), arrowHead("forbidden")),
    ...way.map(([a, b]) => arrow(a, b, "way")),
    ...states,
    from === to ? loop(STATES[to], verdict) : arrow(from, to, verdict),
  );
  // On a phone the picture is wider than the window.
  return h("figure", {}, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The states of a Job" }, picture), h("figcaption", {}, sentence));
}

function arrowHead(kind: string): SVGElement {
  const shape = svg("path", { d: "M0 0 8 4 0 8z", class: `head ${kind}` });
  return svg("marker", { id: `head-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, shape);
}

function box(state: State, isFrom: boolean, isTo: boolean, verdict: string): SVGElement {
  const classes = ["state", isFrom && "from", isTo && `to ${verdict}`].filter((name) => name !== false).join(" ");
  const middle = state.x + WIDTH / 2;
  return svg(
    "g",
    { class: classes },
    svg("rect", { x: state.x, y: state.y, width: WIDTH, height: HEIGHT, rx: 6 }),
    svg("text", { x: middle, y: state.y + 19, class: "label" }, state.label),
    svg("text", { x: middle, y: state.y + 35, class: "about" }, state.about),
  );
}

/** A step from the edge of one box to the edge of another; one that goes back, or past a box, in a bow. */
function arrow(from: StateId, to: StateId, kind: string): SVGElement {
  const [a, b] = [STATES[from], STATES[to]];
  const path = { class: `step ${kind}`, "marker-end": `url(#head-${kind})` };
  if (Math.abs(a.x - b.x) < 10) {
    // Above each other: two lanes, one for each way.
    const down = a.y < b.y;
    const x = a.x + WIDTH / 2 + (down ? -14 : 14);
    const [y1, y2] = down ? [a.y + HEIGHT, b.y - 2] : [a.y, b.y + HEIGHT + 2];
    return svg("path", { ...path, d: `M${x} ${y1} V${y2}` });
  }
  const forward = a.x < b.x;
  const [x1, x2] = forward ? [a.x + WIDTH, b.x - 2] : [a.x, b.x + WIDTH + 2];
  const [y1, y2] = [a.y + HEIGHT / 2, b.y + HEIGHT / 2];
  const isFar = Math.abs(a.x - b.x) > 200;
  if (!forward || isFar) {
    const edge = Math.min(a.y, b.y) <= 30 ? -2 : Math.min(y1, y2) < 130 ? 8 : 244;
    const top = edge < 130;
    const [sx, ex] = [a.x + WIDTH / 2, b.x + WIDTH / 2];
    const [sy, ey] = top ? [a.y, b.y - 2] : [a.y + HEIGHT, b.y + HEIGHT + 2];
    return svg("path", { ...path, d: `M${sx} ${sy} C${sx} ${edge} ${ex} ${edge} ${ex} ${ey}` });
  }
  const bend = (x1 + x2) / 2;
  return svg("path", { ...path, d: `M${x1} ${y1} C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}` });
}

function loop(state: State, kind: string): SVGElement {
  const x = state.x + WIDTH / 2;
  const y = state.y;
  return svg("path", { class: `step ${kind}`, "marker-end": `url(#head-${kind})`, d: `M${x - 18} ${y} C${x - 30} ${y - 30} ${x + 30} ${y - 30} ${x + 18} ${y - 2}` });
}

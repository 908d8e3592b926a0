// Draws the state diagram of a Job's status.
import { h, svg } from "./dom.js";
import type { StateId, Transitions } from "./transitions.js";

/** Media query for narrow windows. The style sheet uses the same width. */
export const NARROW = "(max-width: 56rem)";

interface StateLabel {
  name: string;
  /** Description below the name. */
  about: string;
}

const LABELS: Record<StateId, StateLabel> = {
  none: { name: "Not started", about: "no start time" },
  running: { name: "Running", about: "start time" },
  suspended: { name: "Suspended", about: "no pods run" },
  criteria: { name: "Succeeding", about: "SuccessCriteriaMet" },
  target: { name: "Failing", about: "FailureTarget" },
  complete: { name: "Complete", about: "final" },
  failed: { name: "Failed", about: "final" },
};

/** A position or size in the direction of the transitions, and across it. */
interface Vector {
  along: number;
  across: number;
}

/** Layout of the boxes: from left to right in a wide window, downwards in a narrow one. */
interface Layout {
  isDown: boolean;
  /** Center of each box. */
  centers: Record<StateId, Vector>;
  box: Vector;
  viewBox: string;
  /** Lanes before the first box, between the boxes of a column, and after the last box. */
  lanes: { first: number; middle: number; last: number };
}

const WIDTH = 132;
const HEIGHT = 46;

const WIDE: Layout = {
  isDown: false,
  centers: {
    none: { along: 76, across: 123 },
    running: { along: 264, across: 123 },
    suspended: { along: 264, across: 213 },
    criteria: { along: 452, across: 53 },
    target: { along: 452, across: 193 },
    complete: { along: 640, across: 53 },
    failed: { along: 640, across: 193 },
  },
  box: { along: WIDTH, across: HEIGHT },
  viewBox: "0 -14 716 286",
  lanes: { first: 6, middle: 123, last: 256 },
};

const DOWN: Layout = {
  isDown: true,
  centers: {
    none: { along: 36, across: 142 },
    running: { along: 130, across: 142 },
    suspended: { along: 130, across: 300 },
    criteria: { along: 224, across: 86 },
    target: { along: 224, across: 254 },
    complete: { along: 318, across: 86 },
    failed: { along: 318, across: 254 },
  },
  box: { along: HEIGHT, across: WIDTH },
  viewBox: "0 0 388 352",
  lanes: { first: 8, middle: 170, last: 380 },
};

/** States from which an arrow reaches the first lane, or the last lane, in every layout. */
const FIRST_LANE = new Set<StateId>(["none", "running", "criteria", "complete"]);
const LAST_LANE = new Set<StateId>(["none", "suspended", "target", "failed"]);

const OUTCOMES = {
  allowed: "allowed.",
  denied: "this update is denied, but another one may make the transition.",
  forbidden: "forbidden. No status update may make this transition.",
};

/** Draws the possible transitions, and the requested one. */
export function stateDiagram({ from, to, outcome, possible }: Transitions): HTMLElement {
  const layout = matchMedia(NARROW).matches ? DOWN : WIDE;
  const step = from === to ? `stays ${LABELS[from].name}` : `goes from ${LABELS[from].name} to ${LABELS[to].name}`;
  const sentence = `The Job ${step}: ${OUTCOMES[outcome]}`;
  const usual = possible.filter(([a, b]) => !(a === from && b === to));
  const states = (Object.keys(LABELS) as StateId[]).map((id) => box(layout, id, id === from, id === to, outcome));
  const picture = svg(
    "svg",
    { viewBox: layout.viewBox, role: "img", "aria-label": `${sentence} Grey arrows are the other possible transitions.`, class: layout.isDown ? "diagram down" : "diagram" },
    svg("defs", {}, ...["usual", "allowed", "denied", "forbidden"].map(arrowHead)),
    ...usual.map(([a, b]) => arrow(layout, a, b, "usual")),
    ...states,
    arrow(layout, from, to, outcome),
  );
  return h("figure", {}, picture, h("figcaption", {}, sentence));
}

function arrowHead(kind: string): SVGElement {
  const shape = svg("path", { d: "M0 0 8 4 0 8z", class: `head ${kind}` });
  return svg("marker", { id: `head-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, shape);
}

function box({ centers, isDown }: Layout, id: StateId, isFrom: boolean, isTo: boolean, outcome: string): SVGElement {
  const { along, across } = centers[id];
  const [x, y] = isDown ? [across, along] : [along, across];
  const classes = ["state", isFrom && "from", isTo && `to ${outcome}`].filter((name) => name !== false).join(" ");
  return svg(
    "g",
    { class: classes, "data-state": id },
    svg("rect", { x: x - WIDTH / 2, y: y - HEIGHT / 2, width: WIDTH, height: HEIGHT, rx: 6 }),
    svg("text", { x, y: y - 4 }, LABELS[id].name),
    svg("text", { x, y: y + 12, class: "about" }, LABELS[id].about),
  );
}

function arrow(layout: Layout, from: StateId, to: StateId, kind: string): SVGElement {
  return svg("path", { class: `transition ${kind}`, "marker-end": `url(#head-${kind})`, d: path(layout, routeOf(layout, from, to)) });
}

/** Radius of the corners of an arrow. */
const RADIUS = 12;
/** Distance of an arrow from the center line that it shares with its opposite, and of its tip from the box. */
const [OFFSET, GAP] = [8, 2];

/** Returns the corners of an arrow from one box to another. It leaves and enters at the sides, and does not cross other boxes. */
function routeOf({ centers, box, lanes }: Layout, from: StateId, to: StateId): Vector[] {
  const [a, b] = [centers[from], centers[to]];
  const isForward = a.along < b.along || (a.along === b.along && a.across < b.across);
  const direction = isForward ? 1 : -1;
  // Shift an arrow and its opposite to different sides, so that they do not overlap.
  const shift = -direction * OFFSET;
  const [half, halfAcross] = [box.along / 2, box.across / 2];
  if (from === to) {
    const side = FIRST_LANE.has(from) ? -1 : 1;
    const edge = a.across + side * halfAcross;
    const lane = edge + side * 2 * OFFSET;
    const [start, end] = [a.along - half / 2, a.along + half / 2];
    return [{ along: start, across: edge }, { along: start, across: lane }, { along: end, across: lane }, { along: end, across: edge + side * GAP }];
  }
  if (a.along === b.along) {
    const along = a.along + shift;
    return [{ along, across: a.across + direction * halfAcross }, { along, across: b.across - direction * (halfAcross + GAP) }];
  }
  const columns = new Set(Object.values(centers).map(({ along }) => along));
  const isNext = ![...columns].some((along) => (along - a.along) * (along - b.along) < 0);
  const lane = isNext ? undefined : [FIRST_LANE, LAST_LANE].find((states) => states.has(from) && states.has(to));
  if (lane !== undefined) {
    const side = lane === FIRST_LANE ? -1 : 1;
    const across = lane === FIRST_LANE ? lanes.first : lanes.last;
    const [start, end] = [a.along + shift, b.along + shift];
    return [{ along: start, across: a.across + side * halfAcross }, { along: start, across }, { along: end, across }, { along: end, across: b.across + side * (halfAcross + GAP) }];
  }
  const start = { along: a.along + direction * half, across: a.across + shift };
  const end = { along: b.along - direction * (half + GAP), across: b.across + shift };
  // The free space beside each box.
  const gap = (at: number, sign: number): number => at + sign * (Math.min(...[...columns].filter((along) => (along - at) * sign > 0).map((along) => Math.abs(along - at))) / 2) + shift / 2;
  const [first, last] = [gap(a.along, direction), gap(b.along, -direction)];
  if (isNext) {
    return [start, { along: first, across: start.across }, { along: first, across: end.across }, end];
  }
  const across = lanes.middle + shift / 2;
  return [start, { along: first, across: start.across }, { along: first, across }, { along: last, across }, { along: last, across: end.across }, end];
}

/** Returns the path through points, with round corners. */
function path({ isDown }: Layout, points: Vector[]): string {
  const at = ({ along, across }: Vector): string => (isDown ? `${across} ${along}` : `${along} ${across}`);
  const lengthOf = (a: Vector, b: Vector): number => Math.hypot(b.along - a.along, b.across - a.across);
  const towards = (a: Vector, b: Vector, length: number): Vector => {
    const share = length / lengthOf(a, b);
    return { along: a.along + (b.along - a.along) * share, across: a.across + (b.across - a.across) * share };
  };
  const distinct = points.filter((point, index) => index === 0 || lengthOf(point, points[index - 1] ?? point) > 0);
  const parts = distinct.map((point, index) => {
    const [before, after] = [distinct[index - 1], distinct[index + 1]];
    if (before === undefined || after === undefined) {
      return `${before === undefined ? "M" : "L"}${at(point)}`;
    }
    const radius = Math.min(RADIUS, lengthOf(before, point) / 2, lengthOf(point, after) / 2);
    return `L${at(towards(point, before, radius))} Q${at(point)} ${at(towards(point, after, radius))}`;
  });
  return parts.join(" ");
}

// Creates elements without HTML markup, so that user input is never parsed as HTML.

type Child = Node | string | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: Event) => void)>;

/** Returns an element of `index.html` by id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) {
    throw new Error(`index.html has no #${id}`);
  }
  return element as T;
}

/** Creates an element. Functions are event listeners: `{ onclick: () => ... }`. */
export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice("on".length), value);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

/** Renders text with `code` and **emphasis**. */
export function prose(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const part of text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/)) {
    if (part.startsWith("`") && part.length > 1) {
      fragment.append(h("code", {}, part.slice(1, -1)));
    } else if (/^\*[^*]+\*$/.test(part)) {
      fragment.append(h("em", {}, part.slice(1, -1)));
    } else if (part !== "") {
      fragment.append(part);
    }
  }
  return fragment;
}

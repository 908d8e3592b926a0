// Elements, made without markup: what people type is text and never HTML.

type Child = Node | string | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: Event) => void)>;

/** The element with an id, which `index.html` has. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) {
    throw new Error(`index.html has no #${id}`);
  }
  return element as T;
}

/** An element. A function is a listener: `{ onclick: () => ... }`. */
export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a drawing. */
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

/** Text in which `code` stands between backticks, and **stress** between stars. */
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

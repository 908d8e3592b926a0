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
  const element = document.createElement(tag);
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

/** Renders `code`, **bold** and links. */
export function inlineMarkdown(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const part of text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/)) {
    const [, label, href] = /^\[(.+)\]\((.+)\)$/s.exec(part) ?? [];
    if (part.startsWith("`")) {
      fragment.append(h("code", {}, part.slice(1, -1)));
    } else if (part.startsWith("**")) {
      fragment.append(h("strong", {}, part.slice(2, -2)));
    } else if (label !== undefined && href !== undefined) {
      fragment.append(h("a", { href, rel: "external" }, label));
    } else {
      fragment.append(part);
    }
  }
  return fragment;
}

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

/** Renders the Markdown of the rule texts: paragraphs, lists, tables and inline markup. */
export function markdown(text: string): HTMLElement[] {
  return text.split("\n\n").map((block) => {
    if (block.startsWith("- ")) {
      return h("ul", {}, ...block.slice(2).split("\n- ").map((item) => h("li", {}, inlineMarkdown(item))));
    }
    if (block.startsWith("| ")) {
      const [head, , ...rows] = block.split("\n").map((line) => line.slice(2, -2).split(" | "));
      const row = (tag: string, cells: string[] = []): HTMLElement => h("tr", {}, ...cells.map((cell) => h(tag, {}, inlineMarkdown(cell))));
      return h("table", {}, row("th", head), ...rows.map((cells) => row("td", cells)));
    }
    return h("p", {}, inlineMarkdown(block));
  });
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

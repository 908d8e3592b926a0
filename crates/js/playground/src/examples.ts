// The examples of the repository, by topic. The build generates them from `examples/`.
import type { Input } from "./input.js";
import generated from "../generated/examples.json" with { type: "json" };

export interface Example {
  /** `field/04-typo-in-the-reserved-value` */
  name: string;
  topic: string;
  title: string;
  input: Input;
}

export const EXAMPLES = generated as Example[];

/** Titles of the topics. */
const TOPICS: Record<string, string> = {
  custom: "Kinds of your own",
  field: "The field of a Job",
  kinds: "Other kinds",
  site: "Rules of a site",
  status: "The status of a Job",
};

/** Fills the list of examples. The first option selects none. */
export function fillChoices(select: HTMLSelectElement, none: string): void {
  const option = (value: string, text: string): HTMLOptionElement => new Option(text, value);
  select.replaceChildren(option("", none));
  for (const topic of new Set(EXAMPLES.map((example) => example.topic))) {
    const group = document.createElement("optgroup");
    group.label = TOPICS[topic] ?? topic;
    group.append(...EXAMPLES.filter((example) => example.topic === topic).map(({ name, title }) => option(name, title)));
    select.append(group);
  }
}

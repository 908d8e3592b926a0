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

/** Titles of the topics, in the order of the list. */
const TOPICS: Record<string, string> = {
  field: "managedBy of Jobs and CronJobs",
  status: "Status of Jobs",
  "cluster-specific": "Cluster-specific rules",
  kinds: "Other kinds",
  custom: "Custom kinds",
};

/** Fills the list of examples. The first option selects none. */
export function fillExamples(select: HTMLSelectElement, none: string): void {
  select.replaceChildren(new Option(none, ""));
  for (const [topic, label] of Object.entries(TOPICS)) {
    const group = document.createElement("optgroup");
    group.label = label;
    group.append(...EXAMPLES.filter((example) => example.topic === topic).map(({ name, title }) => new Option(title, name)));
    select.append(group);
  }
}

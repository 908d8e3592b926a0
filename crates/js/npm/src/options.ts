import type * as glue from "../generated/managed_by.js";
import { ManagedByError } from "./error.js";
import type { DiffOptions, LintOptions } from "./request.js";

const refused = (path: string, message: string): ManagedByError => new ManagedByError("ERR_ARGUMENT", path, `${path}: ${message}`);

/** Refuses what is no option, by its name: a typo would change the answer in silence. */
export function checked(options: unknown, known: string[]): Record<string, unknown> {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw refused("options", "expected a plain object");
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw refused(`options.${name}`, `no such option, expected one of ${known.join(", ")}`);
    }
  }
  return options as Record<string, unknown>;
}

/** Whether every release is asked. */
export function asksAll(options: Record<string, unknown>): boolean {
  return word(options, "releases", "all");
}

/** Whether an option has the one word that it may have. */
function word(options: Record<string, unknown>, name: string, only: string): boolean {
  const value = options[name];
  if (value !== undefined && value !== only) {
    throw refused(`options.${name}`, `expected ${JSON.stringify(only)} or nothing`);
  }
  return value === only;
}

function text(options: Record<string, unknown>, name: string): string {
  const value = options[name] ?? "";
  if (typeof value !== "string") {
    throw refused(`options.${name}`, "expected text");
  }
  return value;
}

/** Options for the module, as `make` makes them of it: the module takes them over with the call that they are for. */
export interface Asked {
  make(module: typeof glue): glue.Asking;
  isStatus: boolean;
}

/** Reads the options of `lint` and `diff`. */
export function asked(options: LintOptions | DiffOptions, isDiff: boolean): Asked {
  const given = checked(options, ["namespace", "username", "groups", "releases", ...(isDiff ? ["subResource"] : [])]);
  const groups = given["groups"] ?? [];
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === "string")) {
    throw refused("options.groups", "expected a list of names");
  }
  const [namespace, username, all] = [text(given, "namespace"), text(given, "username"), asksAll(given)];
  return {
    isStatus: word(given, "subResource", "status"),
    make(module) {
      const asking = new module.Asking(namespace, username, all);
      for (const group of groups) {
        asking.addGroup(group);
      }
      return asking;
    },
  };
}

import type * as glue from "../generated/managed_by.js";
import { ManagedByError } from "./error.js";
import type { DiffOptions, LintOptions } from "./request.js";

const invalid = (path: string, message: string): ManagedByError => new ManagedByError("ERR_INVALID_ARGUMENT", path, `${path}: ${message}`);

/** Rejects unknown options, because a typo would silently change the result. */
export function checked(options: unknown, known: string[]): Record<string, unknown> {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalid("options", "expected a plain object");
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw invalid(`options.${name}`, `no such option, expected one of ${known.join(", ")}`);
    }
  }
  return options as Record<string, unknown>;
}

/** Returns true if every release is to be evaluated. */
export function wantsAllReleases(options: Record<string, unknown>): boolean {
  return hasValue(options, "releases", "all");
}

/** Returns true if an option has its only valid value, and false if it is missing. */
function hasValue(options: Record<string, unknown>, name: string, only: string): boolean {
  const value = options[name];
  if (value !== undefined && value !== only) {
    throw invalid(`options.${name}`, `expected ${JSON.stringify(only)} or nothing`);
  }
  return value === only;
}

function text(options: Record<string, unknown>, name: string): string {
  const value = options[name] ?? "";
  if (typeof value !== "string") {
    throw invalid(`options.${name}`, "expected text");
  }
  return value;
}

/** Validated options. The module frees the result of `create` in the call that it is passed to. */
export interface ParsedOptions {
  create(module: typeof glue): glue.RequestOptions;
  isStatus: boolean;
}

/** Validates the options of `lint` and `diff`. */
export function parseOptions(options: LintOptions | DiffOptions, isDiff: boolean): ParsedOptions {
  const given = checked(options, ["namespace", "username", "groups", "releases", ...(isDiff ? ["subResource"] : [])]);
  const groups = given["groups"] ?? [];
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === "string")) {
    throw invalid("options.groups", "expected a list of names");
  }
  const [namespace, username, all] = [text(given, "namespace"), text(given, "username"), wantsAllReleases(given)];
  return {
    isStatus: hasValue(given, "subResource", "status"),
    create(module) {
      const created = new module.RequestOptions(namespace, username, all);
      for (const group of groups) {
        created.addGroup(group);
      }
      return created;
    },
  };
}

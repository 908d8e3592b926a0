import type * as glue from "../generated/managed_by.js";
import { invalidArgument } from "./error.js";
import type { DiffOptions, LintOptions } from "./request.js";

/** Rejects unknown options, because a typo would silently change the result. */
function validateOptionNames(options: unknown, supported: string[]): Record<string, unknown> {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalidArgument("options", "expected a plain object");
  }
  for (const name of Object.keys(options)) {
    if (!supported.includes(name)) {
      throw invalidArgument(`options.${name}`, `no such option, expected one of ${supported.join(", ")}`);
    }
  }
  return options as Record<string, unknown>;
}

/** Returns the option `releases` of a function without other options. */
export function onlyReleases(options: unknown): string | undefined {
  return releasesOption(validateOptionNames(options, ["releases"]));
}

/** Returns the option `releases`, which the module parses. */
function releasesOption(options: Record<string, unknown>): string | undefined {
  return options["releases"] === undefined ? undefined : stringOption(options, "releases");
}

/** Returns the value of an option that is a string, by default the empty one. */
function stringOption(options: Record<string, unknown>, name: string): string {
  const value = options[name] ?? "";
  if (typeof value !== "string") {
    throw invalidArgument(`options.${name}`, "expected a string");
  }
  return value;
}

/** Validates the options of `lint` and `diff`. The module frees the result of `toModule` in the call that it is passed to. */
export function parseOptions(options: LintOptions | DiffOptions, isDiff: boolean) {
  const supported = ["namespace", "username", "groups", "releases", ...(isDiff ? ["subResource"] : [])];
  const named = validateOptionNames(options, supported);
  const groups = named["groups"] ?? [];
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === "string")) {
    throw invalidArgument("options.groups", "expected a list of names");
  }
  const subResource = named["subResource"];
  if (subResource !== undefined && subResource !== "status") {
    throw invalidArgument("options.subResource", 'expected "status" or nothing');
  }
  const [namespace, username, releases] = [stringOption(named, "namespace"), stringOption(named, "username"), releasesOption(named)];
  return {
    isStatus: subResource === "status",
    toModule(module: typeof glue): glue.RequestOptions {
      const requestOptions = new module.RequestOptions(namespace, username, releases);
      for (const group of groups) {
        requestOptions.addGroup(group);
      }
      return requestOptions;
    },
  };
}

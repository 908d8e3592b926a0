// Formats JSON values as YAML.

/** Formats a value as YAML. */
export function toYaml(value: unknown): string {
  return `${block(value, "")}\n`.replace(/^\n/, "");
}

function block(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0) {
    return value.map((item) => `\n${indent}- ${block(item, `${indent}  `).replace(/^\n\s*/, "")}`).join("");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
    const lines = Object.entries(value).map(([key, member]) => {
      const text = block(member, `${indent}  `);
      return `\n${indent}${scalar(key)}:${text.startsWith("\n") ? text : ` ${text}`}`;
    });
    return lines.join("");
  }
  return typeof value === "string" ? scalar(value) : JSON.stringify(value ?? null);
}

/** Formats a string, without quotes if YAML parses it as the same string. */
function scalar(text: string): string {
  const isPlain = /^[A-Za-z_][\w./-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

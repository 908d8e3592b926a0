// Splits a YAML text into its documents.

/** A document of a text, with its position. */
export interface YamlDocument {
  text: string;
  from: number;
  to: number;
  /** Number of lines before the document. */
  linesBefore: number;
}

/** Splits a text at `---` lines, like the library. */
export function documentsOf(text: string): YamlDocument[] {
  const starts = [...text.matchAll(/(?<![^\n])---(?=[ \t\r\n]|$)/g)].map(({ index }) => index).filter((index) => index > 0);
  let linesBefore = 0;
  return [0, ...starts].map((from, index) => {
    const to = starts[index] ?? text.length;
    const document = { text: text.slice(from, to), from, to, linesBefore };
    linesBefore += document.text.split("\n").length - 1;
    return document;
  });
}

/** Returns the index of the document that contains a position. */
export function documentAt(documents: YamlDocument[], position: number): number {
  return Math.max(0, documents.findLastIndex(({ from }) => from <= position));
}

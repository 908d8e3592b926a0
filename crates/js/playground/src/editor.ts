// YAML editor with underlined findings.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, diagnosticCount, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, type TransactionSpec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string), tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--syntax-atom)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace, tags.meta], color: "var(--faint)" },
]);

/** Theme for the classes that CodeMirror generates, in addition to the style sheet. */
const look = EditorView.theme({
  "&": { height: "100%", backgroundColor: "transparent", color: "var(--ink)", fontSize: "var(--code-size)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "0.75rem 0 2rem", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 1rem 0 0.5rem" },
  ".cm-gutters": { backgroundColor: "transparent", border: "none", color: "var(--faint)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-activeLineGutter": { color: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", border: "none", color: "var(--muted)", padding: "0 0.4em" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--deny) 1.5px", textUnderlineOffset: "3px", backgroundColor: "var(--deny-wash)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1.5px", textUnderlineOffset: "3px", backgroundColor: "var(--warn-wash)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line-strong)", borderRadius: "6px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", fontSize: "0.8125rem", lineHeight: "1.45", padding: "0.5rem 0.75rem" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--deny)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--warn)" },
  ".cm-diagnosticSource": { color: "var(--muted)", opacity: "1" },
});

/** YAML editor. */
export class Editor {
  readonly #view: EditorView;
  /** True while the page itself changes the text or moves the cursor. */
  #isQuiet = false;

  /** Creates an editor that calls functions when the user edits the text or moves the cursor. */
  constructor(parent: HTMLElement, label: string, onEdit: () => void, onCursor?: () => void) {
    this.#view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          history(),
          drawSelection(),
          highlightSpecialChars(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          indentOnInput(),
          bracketMatching(),
          yaml(),
          syntaxHighlighting(colours),
          look,
          // Tab leaves the editor, as it leaves every other field.
          keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            if (this.#isQuiet) {
              return;
            }
            if (update.docChanged) {
              onEdit();
            } else if (update.selectionSet) {
              onCursor?.();
            }
          }),
        ],
      }),
    });
  }

  get length(): number {
    return this.#view.state.doc.length;
  }

  /** Position of the cursor. */
  get cursor(): number {
    return this.#view.state.selection.main.head;
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  /** Replaces the text programmatically, without an edit event. */
  set text(text: string) {
    if (text !== this.text) {
      this.#dispatchQuietly({ changes: { from: 0, to: this.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
    }
  }

  #dispatchQuietly(transaction: TransactionSpec): void {
    this.#isQuiet = true;
    this.#view.dispatch(transaction);
    this.#isQuiet = false;
  }

  /** Underlines findings. Clamps positions, because the text may be newer than the findings. */
  show(diagnostics: Diagnostic[]): void {
    if (diagnostics.length === 0 && diagnosticCount(this.#view.state) === 0) {
      return;
    }
    const end = this.length;
    const within = diagnostics.map((d) => ({ ...d, from: Math.min(d.from, end), to: Math.min(Math.max(d.to, d.from), end) }));
    this.#view.dispatch(setDiagnostics(this.#view.state, within));
  }

  /** Scrolls a position to the center. */
  reveal(from: number): void {
    this.#view.dispatch({ effects: EditorView.scrollIntoView(Math.min(from, this.length), { y: "center" }) });
  }

  /** Moves the cursor to a position, without an event and without the focus. */
  moveTo(from: number): void {
    this.#dispatchQuietly({ selection: { anchor: Math.min(from, this.length) } });
    this.reveal(from);
  }

  /** Moves the cursor to a position and focuses the editor. */
  goTo(from: number): void {
    this.#view.dispatch({ selection: { anchor: Math.min(from, this.length) } });
    this.reveal(from);
    this.focus();
  }

  /** Focuses the editor. */
  focus(): void {
    this.#view.focus();
  }

  /** Measures the editor again after it was hidden. */
  measure(): void {
    this.#view.requestMeasure();
  }
}

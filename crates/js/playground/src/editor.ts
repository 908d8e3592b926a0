// YAML editor with underlined findings.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, diagnosticCount, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Chunk } from "@codemirror/merge";
import { Compartment, EditorState, type Extension, StateEffect, StateField, type Text } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--syntax-key)" },
  { tag: [tags.string, tags.special(tags.string), tags.content], color: "var(--syntax-text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--syntax-atom)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--syntax-comment)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace, tags.meta], color: "var(--syntax-mark)" },
]);

/** Length above which parsing the text after each keystroke is too slow. */
const LONG = 50_000;

/** Marks for the visible lines of a long text. */
const LINE_TOKENS = new MatchDecorator({
  regexp: /(?<key>(?<=^\s*(?:- +)*)[^\s:#'"{}[\],-][^\s:#{}[\],]*(?=:(?:\s|$)))|(?<comment>(?<=^|\s)#.*$)|(?<atom>(?<=[:,[-]\s+)(?:true|false|null|-?\d[\d.]*)(?=\s*(?:$|[,\]}])))/g,
  decoration: ({ groups }) => LINE_MARKS[groups?.["key"] !== undefined ? "key" : groups?.["comment"] !== undefined ? "comment" : "atom"],
});
const LINE_MARKS = { key: Decoration.mark({ class: "yaml-key" }), comment: Decoration.mark({ class: "yaml-comment" }), atom: Decoration.mark({ class: "yaml-atom" }) };

const lineHighlighting = ViewPlugin.define(
  (view) => ({
    decorations: LINE_TOKENS.createDeco(view),
    update(update: ViewUpdate) {
      this.decorations = LINE_TOKENS.updateDeco(update, this.decorations);
    },
  }),
  { decorations: ({ decorations }) => decorations },
);

/** Highlighting of a text: by its syntax tree, or if it is long, by its visible lines. */
function highlightingFor(length: number): Extension {
  return length > LONG ? lineHighlighting : [yaml(), syntaxHighlighting(colours)];
}

const highlighting = new Compartment();

/** Switches the highlighting when a text becomes long or short. */
const switchHighlighting = EditorState.transactionExtender.of(({ docChanged, startState, newDoc }) => {
  const isLong = newDoc.length > LONG;
  return docChanged && isLong !== startState.doc.length > LONG ? { effects: highlighting.reconfigure(highlightingFor(newDoc.length)) } : null;
});

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
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "var(--code-size)", maxHeight: "18em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "0.2rem 0.6rem" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", fontFamily: "var(--sans)" },
  ".cm-completionInfo": { fontFamily: "var(--sans)", fontSize: "0.8125rem", lineHeight: "1.45", padding: "0.5rem 0.75rem", maxWidth: "22rem" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", fontSize: "0.8125rem", lineHeight: "1.45", padding: "0.5rem 0.75rem" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--deny)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--warn)" },
  ".cm-diagnosticSource": { color: "var(--muted)", opacity: "1" },
});

const setBaseline = StateEffect.define<Text | undefined>();

/** Lines that differ from another text. */
interface ChangedLines {
  baseline: Text | undefined;
  chunks: readonly Chunk[];
  marks: DecorationSet;
}

/** Highlights the changed lines. */
const changedLines = StateField.define<ChangedLines>({
  create: () => ({ baseline: undefined, chunks: [], marks: Decoration.none }),
  update(value, transaction) {
    const { newDoc, changes, docChanged } = transaction;
    const baseline = transaction.effects.reduce((last, effect) => (effect.is(setBaseline) ? effect.value : last), value.baseline);
    if (baseline === undefined) {
      return value.baseline === undefined ? value : { baseline, chunks: [], marks: Decoration.none };
    }
    if (baseline === value.baseline && !docChanged) {
      return value;
    }
    // After an edit, only the chunks near it are compared again.
    const chunks = baseline === value.baseline ? Chunk.updateB(value.chunks, baseline, newDoc, changes, DIFF) : Chunk.build(baseline, newDoc, DIFF);
    return { baseline, chunks, marks: marksOf(chunks, newDoc) };
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.marks),
});

const DIFF = { scanLimit: 500 };
const CHANGED = Decoration.line({ class: "changed-line" });

function marksOf(chunks: readonly Chunk[], doc: Text): DecorationSet {
  const marks = [];
  for (const chunk of chunks) {
    for (let at = chunk.fromB; at < chunk.endB && at <= doc.length; ) {
      const line = doc.lineAt(at);
      marks.push(CHANGED.range(line.from));
      at = line.to + 1;
    }
  }
  return Decoration.set(marks);
}

/** Functions that an editor calls when the user edits the text or moves the cursor. */
export interface Listeners {
  onEdit(): void;
  onCursor?(position: number, length: number): void;
}

/** YAML editor. */
export class Editor {
  readonly #view: EditorView;
  /** True while the page itself changes the text. */
  #isQuiet = false;

  constructor(parent: HTMLElement, label: string, complete: CompletionSource | undefined, { onEdit, onCursor }: Listeners) {
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
          closeBrackets(),
          highlighting.of(highlightingFor(0)),
          switchHighlighting,
          look,
          changedLines,
          ...(complete === undefined ? [] : [autocompletion({ override: [complete], icons: false })]),
          // Tab leaves the editor, as it leaves every other field.
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            if (this.#isQuiet) {
              return;
            }
            if (update.docChanged) {
              onEdit();
            } else if (update.selectionSet) {
              onCursor?.(this.cursor, update.state.doc.length);
            }
          }),
        ],
      }),
    });
  }

  get doc(): Text {
    return this.#view.state.doc;
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
    if (text === this.text) {
      return;
    }
    this.#isQuiet = true;
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
    this.#isQuiet = false;
  }

  /** Underlines findings. Clamps positions, because the text may be newer than the findings. */
  show(diagnostics: Diagnostic[]): void {
    if (diagnostics.length === 0 && diagnosticCount(this.#view.state) === 0) {
      return;
    }
    const end = this.#view.state.doc.length;
    const within = diagnostics.map((d) => ({ ...d, from: Math.min(d.from, end), to: Math.min(Math.max(d.to, d.from), end) }));
    this.#view.dispatch(setDiagnostics(this.#view.state, within));
  }

  /** Highlights lines that differ from the given text, if any. */
  compareWith(baseline: Text | undefined): void {
    if (baseline !== this.#view.state.field(changedLines).baseline) {
      this.#view.dispatch({ effects: setBaseline.of(baseline) });
    }
  }

  /** Scrolls a position to the center. */
  reveal(from: number): void {
    const at = Math.min(from, this.#view.state.doc.length);
    this.#view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "center" }) });
  }

  /** Moves the cursor to a line, without an event and without the focus. */
  moveToLine(line: number): void {
    const { from } = this.doc.line(Math.min(line, this.doc.lines));
    this.#isQuiet = true;
    this.#view.dispatch({ selection: { anchor: from } });
    this.#isQuiet = false;
    this.reveal(from);
  }

  /** Moves the cursor to a position and focuses the editor. */
  goTo(from: number): void {
    this.#view.dispatch({ selection: { anchor: Math.min(from, this.#view.state.doc.length) } });
    this.reveal(from);
    this.#view.focus();
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

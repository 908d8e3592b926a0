//! Positions in files, and diagnostics other than findings of rules.

use std::sync::Arc;

use managed_by_offline::{Document, Located, MalformedText, Path};
use serde::Serialize;

/// A range in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Span {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// The last line.
    pub(crate) end_line: usize,
    /// The column after the last character.
    pub(crate) end_column: usize,
}

/// Lines of a file with a highlighted part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// The number of the first line.
    pub(crate) first_line: usize,
    /// The bytes to highlight.
    pub(crate) span: std::ops::Range<usize>,
}

/// The kind of a diagnostic that does not come from a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// An object or a setting that could not be evaluated.
    NotJudged,
    /// A file or a document that is neither YAML nor JSON.
    Unreadable,
    /// An input without a document.
    Empty,
    /// An exception or a baseline entry without a matching finding.
    UnusedException,
    /// A YAML key that occurs twice in a mapping.
    RepeatedKey,
    /// A field that the API server drops.
    UnknownField,
    /// Skipped input: not a regular file, or a submodule.
    Skipped,
    /// An error in a committed file or in an object in it.
    OldState,
}

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
    Note,
}

impl Level {
    /// Returns the level in SARIF and text output.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 8] = [
        Self::NotJudged,
        Self::Unreadable,
        Self::Empty,
        Self::UnusedException,
        Self::RepeatedKey,
        Self::UnknownField,
        Self::Skipped,
        Self::OldState,
    ];

    /// Returns the id in machine formats.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::NotJudged => "not-judged",
            Self::Unreadable => "unreadable",
            Self::Empty => "empty",
            Self::UnusedException => "unused-exception",
            Self::RepeatedKey => "repeated-key",
            Self::UnknownField => "unknown-field",
            Self::Skipped => "skipped",
            Self::OldState => "old-state",
        }
    }

    /// Returns the severity.
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::NotJudged | Self::Unreadable | Self::Empty => Level::Error,
            Self::UnusedException | Self::RepeatedKey | Self::UnknownField => Level::Warning,
            Self::Skipped | Self::OldState => Level::Note,
        }
    }

    /// Returns the title and the remedy.
    pub(crate) const fn documentation(self) -> [&'static str; 2] {
        match self {
            Self::NotJudged => [
                "An object that could not be judged",
                "Correct what the message names.",
            ],
            Self::Unreadable => [
                "A file that is neither YAML nor JSON",
                "Correct what the message names, or leave the file out with --exclude.",
            ],
            Self::Empty => [
                "An input without a document",
                "Write something into it, or allow it with --allow-empty.",
            ],
            Self::UnusedException => [
                "An exception or an entry of the baseline that no finding matches",
                "Remove it.",
            ],
            Self::RepeatedKey => [
                "A key that occurs twice in a mapping",
                "Remove one of them: kubectl sends the last and drops the other.",
            ],
            Self::UnknownField => [
                "A field that the API server drops",
                "Write the field that the message names: without it, the built-in controller runs the workload.",
            ],
            Self::Skipped => ["A path that is not read", "Leave it out, or read it alone."],
            Self::OldState => [
                "A file or an object of a commit that cannot be judged",
                "Nothing, if the change repairs or deletes it.",
            ],
        }
    }
}

/// A diagnostic at a position, other than a finding of a rule.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Diagnostic {
    pub(crate) kind: Kind,
    /// The file, as the user named it.
    pub(crate) file: Arc<str>,
    /// The line, from 1; 0 for the whole file.
    pub(crate) line: usize,
    /// The column, from 1; 0 for the whole line.
    pub(crate) column: usize,
    /// The message, in one line.
    pub(crate) text: String,
    /// The suggested word, which the message contains too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suggestion: Option<String>,
    /// The surrounding lines of the file.
    #[serde(skip)]
    pub(crate) source: Option<Box<Source>>,
}

/// Maximum length of a line that is shown in full.
const MAX_SHOWN_LINE: usize = 400;

impl Span {
    /// Returns the range of a whole line.
    pub(crate) fn line(line: usize) -> Self {
        Self {
            line,
            column: 1,
            end_line: line,
            end_column: 1,
        }
    }

    /// Returns the range of a byte span.
    fn of(text: &str, span: &std::ops::Range<usize>, line: usize, column: usize) -> Self {
        let shown = text.get(span.clone()).unwrap_or_default();
        let shown = shown.trim_end();
        let breaks = shown.matches('\n').count();
        let last = shown.rsplit('\n').next().unwrap_or_default();
        let width = last.chars().count();
        Self {
            line,
            column,
            end_line: line.saturating_add(breaks),
            end_column: match breaks {
                0 => column.saturating_add(width),
                _ => width.saturating_add(1),
            },
        }
    }
}

/// Returns the range of the value at a path, and the line to show.
pub(crate) fn place(text: &str, document: &Document<'_>, path: &Path) -> (Span, Option<Source>) {
    of_located(text, &document.locate(path))
}

/// Returns the range of the key at a path, and the line to show.
pub(crate) fn key_place(
    text: &str,
    document: &Document<'_>,
    path: &Path,
) -> (Span, Option<Source>) {
    of_located(text, &document.locate_key(path))
}

/// Returns the range of a byte span, and the line to show. Scans from the start of the text.
pub(crate) fn place_of(text: &str, span: &std::ops::Range<usize>) -> (Span, Option<Source>) {
    let before = text.get(..span.start).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    let last = before.rsplit('\n').next().unwrap_or_default();
    let column = last.chars().count().saturating_add(1);
    let place = Span::of(text, span, line, column);
    (place, source(text, line, span))
}

fn of_located(text: &str, located: &Located) -> (Span, Option<Source>) {
    let place = Span::of(text, &located.span, located.line, located.column);
    let source = source(text, located.line, &located.span);
    (place, source)
}

/// Returns the line of a position, unless it is too long to read. Scans no more of the file than can be shown.
fn source(text: &str, line: usize, span: &std::ops::Range<usize>) -> Option<Source> {
    let before = text.get(..span.start)?;
    let earliest = before.floor_char_boundary(before.len().saturating_sub(MAX_SHOWN_LINE));
    let start = match before.get(earliest..)?.rfind('\n') {
        Some(at) => earliest.saturating_add(at).saturating_add(1),
        None if earliest == 0 => 0,
        None => return None,
    };
    let rest = text.get(start..)?;
    let latest = rest.floor_char_boundary(MAX_SHOWN_LINE.saturating_add(1));
    let shown = rest.get(..latest)?.split(['\n', '\r']).next()?;
    if shown.len() > MAX_SHOWN_LINE {
        return None;
    }
    let from = span.start.saturating_sub(start);
    let to = span.end.saturating_sub(start).min(shown.len());
    let to = shown.get(..to).map_or(to, |shown| shown.trim_end().len());
    Some(Source {
        text: shown.to_owned(),
        first_line: line,
        span: from..to.max(from),
    })
}

impl Diagnostic {
    /// Creates a diagnostic for a malformed file.
    pub(crate) fn new(file: &Arc<str>, malformed: MalformedText) -> Self {
        Self {
            kind: Kind::NotJudged,
            file: Arc::clone(file),
            line: malformed.line,
            column: malformed.column,
            text: malformed.text,
            suggestion: None,
            source: None,
        }
    }

    /// Creates a diagnostic at a position.
    pub(crate) fn at(file: &Arc<str>, place: &Span, source: Option<Source>, text: String) -> Self {
        let malformed = MalformedText::at(place.line, place.column, text);
        Self {
            source: source.map(Box::new),
            ..Self::new(file, malformed)
        }
    }

    /// Replaces the kind.
    #[must_use]
    pub(crate) fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Returns the range in the file, unless the diagnostic is about the whole file. It is as wide as the excerpt.
    pub(crate) fn shown(&self) -> Option<Span> {
        let source = self.source.as_ref();
        let shown = source.and_then(|source| source.text.get(source.span.clone()));
        let column = self.column.max(1);
        (self.line > 0).then(|| Span {
            line: self.line,
            column,
            end_line: self.line,
            end_column: column.saturating_add(shown.map_or(0, |shown| shown.chars().count())),
        })
    }

    /// Formats as `jobs.yaml:3:5`.
    pub(crate) fn place(&self) -> String {
        match (self.line, self.column) {
            (0, _) => self.file.to_string(),
            (line, 0) => format!("{}:{line}", self.file),
            (line, column) => format!("{}:{line}:{column}", self.file),
        }
    }
}

//! Places in files, and what a command reports about one beside the findings of rules.

use std::sync::Arc;

use managed_by_offline::{Document, Located, MalformedText, Path};
use serde::Serialize;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Span {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// The last line.
    pub(crate) end_line: usize,
    /// The column behind the last character.
    pub(crate) end_column: usize,
}

/// Lines of a file, with something to show in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// The number of the first.
    pub(crate) first_line: usize,
    /// The bytes to show.
    pub(crate) span: std::ops::Range<usize>,
}

/// Kind of a diagnostic that no rule reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// An object, or a setting, that could not be judged.
    NotJudged,
    /// A file, or a document, that is neither YAML nor JSON.
    Unreadable,
    /// An input without a document.
    Empty,
    /// An exception, or an entry of a baseline, that no finding matches.
    UnusedException,
    /// A key of YAML that occurs twice in a mapping.
    RepeatedKey,
    /// A field that the API server drops.
    UnknownField,
    /// What was not read: no regular file, or a submodule.
    Skipped,
    /// What is wrong with a file of a commit, or an object in it.
    OldState,
}

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
    Note,
}

impl Level {
    /// The level in SARIF and in text.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl Kind {
    /// All of them.
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

    /// The id in machine formats.
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

    /// How much it matters.
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::NotJudged | Self::Unreadable | Self::Empty => Level::Error,
            Self::UnusedException | Self::RepeatedKey | Self::UnknownField => Level::Warning,
            Self::Skipped | Self::OldState => Level::Note,
        }
    }

    /// The title, and what to do.
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

/// What a command reports about a place, beside the findings of rules.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Diagnostic {
    pub(crate) kind: Kind,
    /// The file, as the user named it.
    pub(crate) file: Arc<str>,
    /// The line, from 1; 0 where it is the whole file.
    pub(crate) line: usize,
    /// The column, from 1; 0 where it is the whole line.
    pub(crate) column: usize,
    /// Why, in one line.
    pub(crate) text: String,
    /// The word that was probably meant; the text names it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suggestion: Option<String>,
    /// The lines of the file around it.
    #[serde(skip)]
    pub(crate) source: Option<Box<Source>>,
}

/// The longest line that is shown as it is.
const MAX_SHOWN_LINE: usize = 400;

impl Span {
    /// A whole line.
    pub(crate) fn line(line: usize) -> Self {
        Self {
            line,
            column: 1,
            end_line: line,
            end_column: 1,
        }
    }

    /// The place of some bytes of a text.
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

/// The place of a path in a document, and the line to show.
pub(crate) fn place(text: &str, document: &Document<'_>, path: &Path) -> (Span, Option<Source>) {
    of_located(text, &document.locate(path))
}

/// The place of the key at a path, and the line to show.
pub(crate) fn key_place(
    text: &str,
    document: &Document<'_>,
    path: &Path,
) -> (Span, Option<Source>) {
    of_located(text, &document.locate_key(path))
}

/// The place of some bytes of a text, and the line to show. It counts from the start of the text.
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

/// The line of a file that holds a place, unless it is too long to be read. No more of the file is looked at than can be shown.
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
    /// What is malformed in a file.
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

    /// What is malformed at a place of a file.
    pub(crate) fn at(file: &Arc<str>, place: &Span, source: Option<Source>, text: String) -> Self {
        let malformed = MalformedText::at(place.line, place.column, text);
        Self {
            source: source.map(Box::new),
            ..Self::new(file, malformed)
        }
    }

    /// The same of another kind.
    #[must_use]
    pub(crate) fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// The place in the file, if it is not the whole file. It is as wide as what is shown of its line.
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

    /// `jobs.yaml:3:5`
    pub(crate) fn place(&self) -> String {
        match (self.line, self.column) {
            (0, _) => self.file.to_string(),
            (line, 0) => format!("{}:{line}", self.file),
            (line, column) => format!("{}:{line}:{column}", self.file),
        }
    }
}

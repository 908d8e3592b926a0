//! Positions in files, and diagnostics other than findings of rules.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use managed_by_offline::{Document, MalformedText, Path, SkipReason, ValueLocation};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    pub end_line: usize,
    /// The column after the last character.
    pub end_column: usize,
}

/// A line of a file with a highlighted part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    pub text: String,
    pub span: Range<usize>,
}

/// The kind of a diagnostic that does not come from a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiagnosticKind {
    NotEvaluated,
    Malformed,
    Unreadable,
    Empty,
    UnusedSuppression,
    DuplicateField,
    UnsupportedVersion,
    LikelyTypo,
    Skipped,
    KustomizePatch,
    UnknownPatchRelease,
    BaseRevisionError,
    Configuration,
}

/// Severity of a diagnostic or a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warning,
    Note,
}

/// Formats as in SARIF and text output.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl DiagnosticKind {
    /// All kinds, each with its severity and its title.
    pub const ALL: [(Self, Level, &str); 13] = [
        (
            Self::NotEvaluated,
            Level::Error,
            "An object or a setting that could not be evaluated",
        ),
        (
            Self::Malformed,
            Level::Error,
            "An object with a field of the wrong type, which is denied",
        ),
        (
            Self::Unreadable,
            Level::Error,
            "A file or a document that is neither YAML nor JSON",
        ),
        (Self::Empty, Level::Error, "An input without a document"),
        (
            Self::UnusedSuppression,
            Level::Warning,
            "An exception that no finding matches",
        ),
        (
            Self::DuplicateField,
            Level::Warning,
            "A YAML key that occurs twice in a mapping; kubectl sends the last",
        ),
        (
            Self::UnsupportedVersion,
            Level::Warning,
            "An object that was not evaluated, because its kind is supported only in other versions, or misspelled",
        ),
        (
            Self::LikelyTypo,
            Level::Warning,
            "A controller in the settings whose name is probably misspelled",
        ),
        (
            Self::Skipped,
            Level::Warning,
            "A path that is not read: a submodule, a changed symbolic link, or not a regular file",
        ),
        (
            Self::KustomizePatch,
            Level::Note,
            "A patch or component of Kustomize, which is no whole object",
        ),
        (
            Self::UnknownPatchRelease,
            Level::Note,
            "A patch release of Kubernetes whose rules nobody has compared with the newest known one",
        ),
        (
            Self::BaseRevisionError,
            Level::Note,
            "An error in the committed revision of a file, which the change may fix",
        ),
        (
            Self::Configuration,
            Level::Note,
            "A configuration file of the evaluated tree whose choices may hide findings",
        ),
    ];
}

/// Formats the id in machine formats: `not-evaluated`.
impl fmt::Display for DiagnosticKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A diagnostic at a position, other than a finding of a rule.
#[derive(Debug, Clone, Serialize)]
pub struct Diagnostic {
    pub kind: DiagnosticKind,
    pub file: Arc<str>,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The column, from 1; 0 for the whole line.
    pub column: usize,
    /// The message, in one line.
    pub message: String,
    /// The suggested replacement, which the message also contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The reason why a record of a history could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<SkipReason>,
    #[serde(skip)]
    pub source: Option<Box<SourceLine>>,
}

/// Maximum length of a line that is shown in full.
const MAX_SHOWN_LINE: usize = 400;

impl Span {
    /// Returns an empty range at the start of a line, for a diagnostic about the whole line.
    pub fn line(line: usize) -> Self {
        Self {
            line,
            column: 1,
            end_line: line,
            end_column: 1,
        }
    }

    /// Returns the range of a byte span that starts at a line and column.
    fn new(text: &str, span: &Range<usize>, line: usize, column: usize) -> Self {
        let text = text.get(span.clone()).unwrap_or_default().trim_end();
        let breaks = text.matches('\n').count();
        let last = text.rsplit('\n').next().unwrap_or_default();
        let start = if breaks == 0 { column } else { 1 };
        Self {
            line,
            column,
            end_line: line.saturating_add(breaks),
            end_column: start.saturating_add(last.chars().count()),
        }
    }
}

/// Returns the range of the value at a path, and its line in the file.
pub fn locate(text: &str, document: &Document<'_>, path: &Path) -> (Span, Option<SourceLine>) {
    span_and_source(text, &document.locate(path))
}

/// Returns the range of the key at a path, and its line in the file.
pub fn locate_key(text: &str, document: &Document<'_>, path: &Path) -> (Span, Option<SourceLine>) {
    span_and_source(text, &document.locate_key(path))
}

/// Returns the range of a located value, and its line in the file.
pub fn span_and_source(text: &str, located: &ValueLocation) -> (Span, Option<SourceLine>) {
    let span = Span::new(text, &located.span, located.line, located.column);
    (span, source(text, &located.span))
}

/// Returns the line of a position, unless it is too long to show. Scans no more of the file than it can show.
fn source(text: &str, span: &Range<usize>) -> Option<SourceLine> {
    let before = text.get(..span.start)?;
    let earliest = before.floor_char_boundary(before.len().saturating_sub(MAX_SHOWN_LINE));
    // As in YAML, a carriage return alone also ends a line.
    let start = match before.get(earliest..)?.rfind(['\n', '\r']) {
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
    Some(SourceLine {
        text: shown.to_owned(),
        span: from..to.max(from),
    })
}

impl Diagnostic {
    /// Creates an error about a malformed file.
    pub fn new(file: &Arc<str>, malformed: MalformedText) -> Self {
        Self {
            kind: DiagnosticKind::NotEvaluated,
            file: Arc::clone(file),
            line: malformed.line,
            column: malformed.column,
            message: malformed.text,
            suggestion: None,
            reason: None,
            source: None,
        }
    }

    pub fn of_file(file: &Arc<str>, text: impl Into<String>) -> Self {
        Self::new(file, MalformedText::new(text))
    }

    pub fn at(file: &Arc<str>, (span, source): (Span, Option<SourceLine>), text: String) -> Self {
        Self {
            source: source.map(Box::new),
            ..Self::new(file, MalformedText::at(span.line, span.column, text))
        }
    }

    #[must_use]
    pub fn with_kind(self, kind: DiagnosticKind) -> Self {
        Self { kind, ..self }
    }

    #[must_use]
    pub fn with_reason(self, reason: SkipReason) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    pub fn level(&self) -> Level {
        let known = DiagnosticKind::ALL
            .iter()
            .find(|(kind, ..)| *kind == self.kind);
        known.map_or(Level::Error, |(_, level, _)| *level)
    }

    /// Returns the range in the file, unless the diagnostic is about the whole file. It covers the highlighted part of the line.
    pub fn span(&self) -> Option<Span> {
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
    pub fn position(&self) -> String {
        match (self.line, self.column) {
            (0, _) => self.file.to_string(),
            (line, 0) => format!("{}:{line}", self.file),
            (line, column) => format!("{}:{line}:{column}", self.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_str, json};

    use super::DiagnosticKind;

    #[test]
    fn schema_lists_all_kinds() {
        let schema = managed_by_testing::read("docs/cli.schema.json").unwrap();
        let schema: Value = from_str(&schema).unwrap();
        let kinds = DiagnosticKind::ALL.map(|(kind, ..)| kind);
        let listed = &schema["$defs"]["diagnostic"]["properties"]["kind"]["enum"];
        assert_eq!(*listed, json!(kinds));
    }
}

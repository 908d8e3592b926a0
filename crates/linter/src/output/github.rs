//! Workflow commands of GitHub Actions: annotations of files.
//!
//! Source: "Workflow commands for GitHub Actions" and `command.ts` of `actions/toolkit`, which defines how values are
//! escaped.

use std::io::{self, Write};

use managed_by_console::diagnostic::Level;
use managed_by_console::escape::escape_control;

use super::text;
use crate::report::Report;

/// Prints a command for each finding and diagnostic.
pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for annotation in report.annotations() {
        if annotation.is_suppressed() {
            continue;
        }
        let span = annotation.span.map(|span| {
            format!(
                ",line={},endLine={},col={},endColumn={}",
                span.line, span.end_line, span.column, span.end_column
            )
        });
        let (level, span) = (level(annotation.level), span.unwrap_or_default());
        let (file, title) = (annotation.file, &annotation.id);
        let (file, title) = (escape_property(file), escape_property(title));
        let text = escape_data(&annotation.text);
        writeln!(out, "::{level} file={file}{span},title={title}::{text}")?;
    }
    let suppressed = text::suppressed_counts(report);
    match suppressed.strip_prefix("; ") {
        Some(suppressed) => writeln!(
            out,
            "::notice title=managed-by::{}",
            escape_data(suppressed)
        ),
        None => Ok(()),
    }
}

/// Returns a command, without a file, for a run that evaluated nothing.
pub(crate) fn nothing_evaluated_command(text: &str, level: Level) -> String {
    format!(
        "::{} title=not evaluated::{}\n",
        self::level(level),
        escape_data(text)
    )
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    }
}

/// Escapes text like the toolkit, except that line breaks become a literal `\n`. GitHub renders `%0A` as a line break, so an
/// untrusted name could inject lines.
fn escape_data(text: &str) -> String {
    escape_control(&text.replace('%', "%25")).into_owned()
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

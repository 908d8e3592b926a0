//! Workflow commands of GitHub Actions: annotations of files.
//!
//! Source: "Workflow commands for GitHub Actions" and `command.ts` of `actions/toolkit`, which defines how values are
//! escaped.

use std::fmt::Write as _;
use std::io::{self, Write};

use managed_by::Enforcement;

use super::plain::plain;
use super::text;
use crate::diagnostic::{Level, Span};
use crate::report::Report;

/// Prints a command for each finding.
pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for outcome in &report.results {
        for finding in outcome.counted() {
            let found = &finding.found;
            let level = match found.enforcement {
                Enforcement::Deny => "error",
                Enforcement::Warn | Enforcement::Off => "warning",
            };
            let place = finding.place.as_ref().or(outcome.place.as_ref());
            let text = format!("{}: {}", outcome.object, outcome.text_of(found));
            out.write_all(command(level, &outcome.file, place, found.rule.id(), &text).as_bytes())?;
        }
    }
    for diagnostic in report.diagnostics() {
        let (place, file, kind) = (diagnostic.shown(), &diagnostic.file, diagnostic.kind);
        let level = match kind.level() {
            Level::Note => "notice",
            level => level.as_str(),
        };
        let command = command(level, file, place.as_ref(), kind.as_str(), &diagnostic.text);
        out.write_all(command.as_bytes())?;
    }
    let excused = text::excused(report);
    match excused.strip_prefix("; ") {
        Some(excused) => writeln!(out, "::notice title=managed-by::{}", data(excused)),
        None => Ok(()),
    }
}

/// Returns a command, without a file, for a run that evaluated nothing.
pub(crate) fn nothing(text: &str, allow_empty: bool) -> String {
    let level = if allow_empty { "notice" } else { "error" };
    format!("::{level} title=not judged::{}\n", data(text))
}

fn command(level: &str, file: &str, place: Option<&Span>, title: &str, text: &str) -> String {
    let mut properties = format!("file={}", property(file));
    if let Some(place) = place {
        // Writing to a String cannot fail.
        let _ = write!(
            properties,
            ",line={},endLine={},col={},endColumn={}",
            place.line, place.end_line, place.column, place.end_column
        );
    }
    format!(
        "::{level} {properties},title={}::{}\n",
        property(title),
        data(text)
    )
}

/// Escapes a text like the toolkit, except for line ends, which GitHub would show if they came from a name.
fn data(text: &str) -> String {
    plain(&text.replace('%', "%25")).into_owned()
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn values_are_escaped_as_the_toolkit_does_and_write_no_lines() {
        assert_eq!(
            command("error", "a,b:c.yaml", None, "x/y", "50%\nof: it, all"),
            "::error file=a%2Cb%3Ac.yaml,title=x/y::50%25\\nof: it, all\n"
        );
    }
}

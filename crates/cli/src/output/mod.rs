//! Prints reports.

pub(crate) mod github;
pub(crate) mod gitlab;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod plain;
pub(crate) mod sarif;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod writers;

use std::io::{self, BufWriter, Write};

use crate::args::Output;
use crate::diagnostic::Diagnostic;
use crate::error::CliError;
use crate::report::{Kind, Report};
use crate::summary::Summary;

/// Prints a report on standard output, and skipped input on standard error.
pub(crate) fn print(
    report: &Report,
    format: Output,
    quiet: bool,
    allow_empty: bool,
) -> Result<(), CliError> {
    // Human-readable output may be colored. The choice is made once per process.
    let mut out = standard_output(format);
    write(&mut out, report, format)?;
    out.flush()?;
    // GitHub workflow commands include the diagnostics already.
    if format != Output::Github {
        print_diagnostics(report);
    }
    anstream::eprint!("{}{}", text::dropped(report), text::hints(report));
    // Settings are checked, not evaluated.
    if report.kind == Kind::SettingsCheck {
        return Ok(());
    }
    if report.is_nothing() {
        let text = text::nothing(report.unknown.iter(), report.skipped);
        tell_nothing(&text, format, allow_empty);
    } else if !quiet && format == Output::Text {
        anstream::eprint!("{}", text::created_and_deleted(report));
        anstream::eprintln!("{}", text::sums(report));
    }
    Ok(())
}

fn write(out: &mut impl Write, report: &Report, format: Output) -> Result<(), CliError> {
    match format {
        Output::Text => text::write(out, report)?,
        Output::Json => json::write(out, report)?,
        Output::Ndjson => json::write_lines(out, report)?,
        Output::Sarif => sarif::write(out, report)?,
        Output::Junit => junit::write(out, report)?,
        Output::Github => github::write(out, report)?,
        Output::Gitlab => gitlab::write(out, report)?,
    }
    Ok(())
}

/// Returns standard output for a format. Text has colors only on terminals. Data is not filtered, because the
/// color-stripping stream also removes DEL characters.
fn standard_output(format: Output) -> BufWriter<anstream::AutoStream<io::StdoutLock<'static>>> {
    let stdout = io::stdout();
    BufWriter::new(match format {
        Output::Json | Output::Ndjson | Output::Sarif | Output::Gitlab => {
            anstream::AutoStream::always_ansi(stdout).lock()
        }
        Output::Text | Output::Junit | Output::Github => anstream::AutoStream::auto(stdout).lock(),
    })
}

/// Reports that nothing was evaluated, which is an error unless allowed.
fn tell_nothing(text: &str, format: Output, allow_empty: bool) {
    if format == Output::Github {
        anstream::print!("{}", github::nothing(text, allow_empty));
    } else {
        anstream::eprintln!("{}: {text}", level_of_nothing(allow_empty));
    }
}

/// Returns the severity of a run without evaluations.
pub(crate) fn level_of_nothing(allow_empty: bool) -> &'static str {
    if allow_empty { "note" } else { "error" }
}

/// Prints errors and warnings on standard error.
pub(crate) fn print_diagnostics(report: &Report) {
    for diagnostic in report.diagnostics() {
        anstream::eprint!("{}", text::diagnostic(diagnostic));
    }
}

/// Reports skipped input immediately. The GitHub format reports it at the end.
pub(crate) fn tell_unjudged(unjudged: &Diagnostic, format: Output) {
    if format != Output::Github {
        anstream::eprint!("{}", text::diagnostic(unjudged));
    }
}

/// Prints the results of a replay.
pub(crate) fn print_replay(
    summary: &Summary,
    format: Output,
    quiet: bool,
    allow_empty: bool,
) -> Result<(), CliError> {
    let mut out = standard_output(format);
    match format {
        Output::Text => text::write_replay(&mut out, summary)?,
        Output::Json => json::write_replay(&mut out, summary, true)?,
        Output::Ndjson => json::write_replay(&mut out, summary, false)?,
        Output::Sarif | Output::Junit | Output::Github | Output::Gitlab => {
            write(&mut out, &json::replay_report(summary), format)?;
        }
    }
    out.flush()?;
    anstream::eprint!("{}", text::hints_of_kinds(summary));
    if summary.is_nothing() {
        let unknown = summary.tally.unknown.iter();
        let text = text::nothing(unknown.map(|(kind, count)| (kind, count)), 0);
        tell_nothing(&text, format, allow_empty);
    } else if !quiet && format == Output::Text {
        anstream::eprintln!("{}", text::replay_sums(summary));
    }
    Ok(())
}

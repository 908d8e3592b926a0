//! Prints reports.

pub(crate) mod escape;
pub(crate) mod github;
pub(crate) mod gitlab;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod sarif;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod writers;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use crate::args::Output;
use crate::diagnostic::{Diagnostic, Level};
use crate::exit::CliError;
use crate::recording::ReplaySummary;
use crate::report::{Report, ReportKind};
use crate::stderr::stderr;

/// Prints a report on standard output, and diagnostics on standard error.
pub(crate) fn print(
    report: &Report,
    format: Output,
    quiet: bool,
    allow_empty: bool,
) -> Result<(), CliError> {
    let mut out = standard_output(format);
    write(&mut out, report, format)?;
    out.flush()?;
    // GitHub workflow commands include the diagnostics already.
    if format != Output::Github {
        print_diagnostics(report.sorted_diagnostics());
    }
    for fix in &report.fixes {
        stderr!("fixed: {}\n", escape::escape_control(fix));
    }
    stderr!(
        "{}{}",
        text::dropped_field_note(report),
        text::hints(report)
    );
    if report.evaluated_nothing() {
        print_nothing_evaluated(&report.unsupported, report.skipped, format, allow_empty)?;
    } else if !quiet && !format.has_totals() && report.kind != ReportKind::SettingsCheck {
        if format == Output::Text {
            stderr!("{}", text::created_and_deleted(report));
        }
        stderr!("{}\n", text::totals(report));
    }
    Ok(())
}

fn write(out: &mut impl Write, report: &Report, format: Output) -> io::Result<()> {
    match format {
        // Nothing else, so that `git apply` can read it.
        Output::Text if !report.diff.is_empty() => write!(out, "{}", report.diff),
        Output::Text => report
            .results
            .iter()
            .try_for_each(|result| text::write_result(out, result)),
        Output::Json => json::write(out, report),
        Output::Ndjson => json::write_lines(out, report),
        Output::Sarif => sarif::write(out, report),
        Output::Junit => junit::write(out, report),
        Output::Github => github::write(out, report),
        Output::Gitlab => gitlab::write(out, report),
    }
}

/// Returns standard output for a format. `--color` applies to text formats. JSON is passed through unfiltered, because the
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
pub(crate) fn print_nothing_evaluated(
    unsupported: &BTreeMap<String, u64>,
    skipped: usize,
    format: Output,
    allow_empty: bool,
) -> io::Result<()> {
    let (text, level) = (
        text::nothing_evaluated_message(unsupported, skipped),
        nothing_evaluated_level(allow_empty),
    );
    if format == Output::Github {
        let command = github::nothing_evaluated_command(&text, level);
        write!(anstream::stdout(), "{command}")?;
    } else {
        stderr!("{level}: {text}\n");
    }
    Ok(())
}

/// Returns the severity of a run without evaluations.
pub(crate) fn nothing_evaluated_level(allow_empty: bool) -> Level {
    if allow_empty {
        Level::Note
    } else {
        Level::Error
    }
}

/// Prints errors, warnings and notes on standard error.
pub(crate) fn print_diagnostics<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) {
    for diagnostic in diagnostics {
        stderr!("{}", text::render_diagnostic(diagnostic));
    }
}

/// Prints an error immediately. The GitHub format includes it at the end.
pub(crate) fn print_error(error: &Diagnostic, format: Output) {
    if format != Output::Github {
        stderr!("{}", text::render_diagnostic(error));
    }
}

pub(crate) fn print_replay(
    summary: &ReplaySummary,
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
    stderr!("{}", text::hints_for_kinds(summary));
    if summary.evaluated_nothing() {
        print_nothing_evaluated(&summary.tally.unsupported, 0, format, allow_empty)?;
    } else if !quiet && !format.has_totals() {
        stderr!("{}\n", text::replay_totals(summary));
    }
    Ok(())
}

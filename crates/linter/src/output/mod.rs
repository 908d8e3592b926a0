//! Prints reports.

pub(crate) mod github;
pub(crate) mod gitlab;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod sarif;
pub(crate) mod text;

use std::io::{self, BufWriter, Write};

use managed_by_console::diagnostic::Diagnostic;
use managed_by_console::escape::escape_control;
use managed_by_console::exit::CliError;
use managed_by_console::print::{nothing_evaluated_level, print_diagnostics};
use managed_by_console::stderr;

use crate::args::Output;
use crate::recording::ReplaySummary;
use crate::report::{Report, ReportKind};

/// Prints results as soon as they are known, if nothing before them depends on all of them: a million findings need no memory then.
pub(crate) struct ResultPrinter {
    out: StandardOutput,
    format: Output,
    /// True if the format has a part before the results, which is printed.
    has_started: bool,
}

impl ResultPrinter {
    pub(crate) fn new(format: Output) -> Self {
        Self {
            out: standard_output(format),
            format,
            has_started: false,
        }
    }

    /// Prints the results of a report, and removes them. With another format, they stay in the report.
    pub(crate) fn print_results(&mut self, report: &mut Report) -> io::Result<()> {
        match self.format {
            Output::Text => text::write_results(&mut self.out, report)?,
            Output::Ndjson => json::write_results(&mut self.out, report)?,
            Output::Sarif => {
                sarif::write_results(&mut self.out, report, &mut self.has_started)?;
            }
            Output::Json | Output::Junit | Output::Github | Output::Gitlab => return Ok(()),
        }
        report.printed = report.result_counts();
        report.results.clear();
        Ok(())
    }

    fn print_rest(&mut self, report: &mut Report) -> io::Result<()> {
        if self.format == Output::Text && !report.diff.is_empty() {
            // Nothing else, so that `git apply` can read it.
            write!(self.out, "{}", report.diff)?;
            return self.out.flush();
        }
        self.print_results(report)?;
        match self.format {
            Output::Text => {}
            Output::Ndjson => json::write_end(&mut self.out, report)?,
            Output::Sarif => sarif::write_end(&mut self.out, report, self.has_started)?,
            Output::Json => json::write(&mut self.out, report)?,
            Output::Junit => junit::write(&mut self.out, report)?,
            Output::Github => github::write(&mut self.out, report)?,
            Output::Gitlab => gitlab::write(&mut self.out, report)?,
        }
        self.out.flush()
    }

    /// Prints the rest of a report on standard output, and diagnostics on standard error.
    pub(crate) fn finish(
        mut self,
        report: &mut Report,
        quiet: bool,
        allow_empty: bool,
    ) -> Result<(), CliError> {
        let format = self.format;
        self.print_rest(report)?;
        // GitHub workflow commands include the diagnostics already.
        if format != Output::Github {
            print_diagnostics(report.sorted_diagnostics());
        }
        for fix in &report.fixes {
            stderr!("fixed: {}\n", escape_control(fix));
        }
        stderr!(
            "{}{}",
            text::dropped_field_note(report),
            text::hints(report)
        );
        if report.evaluated_nothing() {
            print_nothing_evaluated(&text::nothing_evaluated(report), format, allow_empty)?;
        } else if !quiet && !format.has_totals() && report.kind != ReportKind::SettingsCheck {
            if format == Output::Text {
                stderr!("{}", text::created_and_deleted(report));
            }
            stderr!("{}\n", text::totals(report));
        }
        Ok(())
    }
}

/// Prints an error that stopped a command as a report, because an empty file is none.
pub fn print_fatal(kind: ReportKind, format: Output, error: &CliError) -> io::Result<()> {
    let diagnostics = match error {
        CliError::BrokenPipe => return Ok(()),
        CliError::Error(text) => vec![Diagnostic::of_file(&".".into(), &**text)],
        CliError::Diagnostics(diagnostics) => diagnostics.clone(),
    };
    ResultPrinter::new(format).print_rest(&mut Report {
        kind,
        diagnostics,
        ..Report::default()
    })
}

type StandardOutput = BufWriter<anstream::AutoStream<io::StdoutLock<'static>>>;

/// Returns standard output for a format. `--color` applies to text formats. JSON is passed through unfiltered, because the
/// color-stripping stream also removes DEL characters.
fn standard_output(format: Output) -> StandardOutput {
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
    text: &str,
    format: Output,
    allow_empty: bool,
) -> io::Result<()> {
    let level = nothing_evaluated_level(allow_empty);
    if format == Output::Github {
        let command = github::nothing_evaluated_command(text, level);
        write!(anstream::stdout(), "{command}")?;
    } else {
        stderr!("{level}: {text}\n");
    }
    Ok(())
}

pub(crate) fn print_replay(
    summary: &ReplaySummary,
    format: Output,
    quiet: bool,
    allow_empty: bool,
) -> Result<(), CliError> {
    let mut printer = ResultPrinter::new(format);
    let out = &mut printer.out;
    match format {
        Output::Text => text::write_replay(out, summary)?,
        Output::Json => json::write_replay(out, summary, true)?,
        Output::Ndjson => json::write_replay(out, summary, false)?,
        Output::Sarif | Output::Junit | Output::Github | Output::Gitlab => {
            printer.print_rest(&mut json::replay_report(summary))?;
        }
    }
    printer.out.flush()?;
    stderr!("{}", text::hints_for_kinds(summary));
    if summary.evaluated_nothing() {
        print_nothing_evaluated(&text::nothing_replayed(summary), format, allow_empty)?;
    } else if !quiet && !format.has_totals() {
        stderr!("{}\n", text::replay_totals(summary));
    }
    Ok(())
}

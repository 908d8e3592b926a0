//! Implementations of the commands.

mod cel;
pub mod diff;
pub mod lint;
pub mod list;
mod objects;
pub mod page;
mod pairs;
pub mod replay;
pub mod review;
pub mod settings;
mod writers;

use managed_by_console::diagnostic::DiagnosticKind;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::settings::ResolvedSettings;

use crate::args::{EvaluationArgs, ManifestArgs};
use crate::output::ResultPrinter;
use crate::report::Report;

/// Reads the settings from the arguments.
fn resolve(args: &EvaluationArgs) -> Result<ResolvedSettings, CliError> {
    let rules = args.rules.iter().map(|rule| (rule.rule, rule.enforcement));
    let rules: Vec<_> = rules.collect();
    let mut settings =
        ResolvedSettings::new(args.settings.as_deref(), args.kubernetes.as_ref(), &rules)?;
    settings.remarks.extend(args.chosen_by.clone());
    Ok(settings)
}

/// Prints the results for manifests, as they are evaluated.
struct ManifestResults<'a> {
    args: &'a ManifestArgs,
    printer: ResultPrinter,
    report: Report,
    /// True if results are printed before all are known.
    is_streamed: bool,
}

impl<'a> ManifestResults<'a> {
    /// Starts with the first results.
    fn new(args: &'a ManifestArgs, report: Report) -> Self {
        Self {
            args,
            printer: ResultPrinter::new(args.evaluation.output),
            report,
            is_streamed: true,
        }
    }

    /// Adds the results for some objects.
    fn add(&mut self, report: Report) -> Result<(), CliError> {
        self.report.append(report);
        if self.is_streamed {
            self.printer.print_results(&mut self.report)?;
        }
        Ok(())
    }

    fn finish(mut self, quiet: bool) -> Result<ExitStatus, CliError> {
        let (report, evaluation) = (&mut self.report, &self.args.evaluation);
        if self.args.directories.skip_unreadable {
            report.skipped = report.remove_diagnostics(DiagnosticKind::Unreadable);
        }
        report.configure(evaluation);
        self.printer.finish(report, quiet, evaluation.allow_empty)?;
        Ok(report.exit_status(evaluation))
    }
}

//! Implementations of the commands.

mod cel;
mod conformance;
mod diff;
mod lint;
mod list;
mod objects;
mod page;
mod pairs;
mod recording;
mod replay;
mod review;
mod settings;
pub(crate) mod status;
mod writers;

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Args, Command, ManifestArgs, Output, SettingsCommand};
use crate::diagnostic::DiagnosticKind;
use crate::exit::{CliError, ExitStatus};
use crate::format::pluralize;
use crate::output::ResultPrinter;
use crate::report::Report;
use crate::stderr::stderr;
use crate::suppression::BaselineFilter;
use crate::{config, output};

pub(crate) fn run(mut args: Args) -> Result<ExitStatus, CliError> {
    let quiet = args.quiet;
    config::apply(&mut args)?;
    match args.command {
        Command::Lint(args) => lint::run(&args, quiet),
        Command::Diff(args) => diff::run(&args, quiet),
        Command::Review(args) => review::run(&args, quiet),
        Command::Replay(args) => replay::run(&args, quiet),
        Command::Conformance(args) => conformance::run(&args, quiet),
        Command::Status(args) => status::run(&args, quiet),
        Command::Rules {
            family,
            kind,
            output,
        } => list::rules(family.as_deref(), kind.as_deref(), output),
        Command::Explain { rule } => page::explain(&rule),
        Command::Kinds { output } => list::kinds(output),
        Command::Settings(SettingsCommand::Check { files, output, cel }) => {
            let mut report = settings::check(&files, cel);
            output::print(&mut report, output, quiet, false)?;
            let is_invalid = report.totals().errors > 0;
            if output == Output::Text && !is_invalid && !quiet {
                stderr!("{}: valid settings\n", pluralize(files.len(), "file"));
            }
            Ok(ExitStatus::first([(is_invalid, ExitStatus::Error)]))
        }
        Command::Settings(SettingsCommand::Writers(args)) => writers::run(&args, quiet),
        Command::Settings(SettingsCommand::Schema) => {
            io::stdout().write_all(settings::SCHEMA.as_bytes())?;
            Ok(ExitStatus::Accepted)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "managed-by", &mut script);
            // If the name of the program has a hyphen, the bash script looks up a command's options under a different name
            // than it defines: <https://github.com/clap-rs/clap/issues/6421>.
            let script = String::from_utf8_lossy(&script);
            let script = script.replace("managed__subcmd__by", "managed__by");
            io::stdout().write_all(script.as_bytes())?;
            Ok(ExitStatus::Accepted)
        }
        Command::Man { command } => page::man(&command),
    }
}

/// Prints the results for manifests, as they are evaluated.
struct ManifestResults<'a> {
    args: &'a ManifestArgs,
    baseline: BaselineFilter,
    printer: ResultPrinter,
    report: Report,
    /// True if results are printed before all are known.
    is_streamed: bool,
}

impl<'a> ManifestResults<'a> {
    /// Starts with the first results.
    fn new(args: &'a ManifestArgs, mut report: Report) -> Result<Self, CliError> {
        let mut baseline = BaselineFilter::new(&args.baseline)?;
        baseline.suppress(&mut report.results);
        Ok(Self {
            args,
            baseline,
            printer: ResultPrinter::new(args.evaluation.output),
            report,
            is_streamed: true,
        })
    }

    /// Adds the results for some objects.
    fn add(&mut self, mut report: Report) -> Result<(), CliError> {
        self.baseline.suppress(&mut report.results);
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
        self.baseline.finish(report)?;
        self.printer.finish(report, quiet, evaluation.allow_empty)?;
        Ok(report.exit_status(evaluation))
    }
}

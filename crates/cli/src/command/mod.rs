//! Implementations of the commands.

mod conformance;
mod diff;
mod lint;
mod list;
mod objects;
mod page;
mod pairs;
mod replay;
mod review;
mod settings;
mod unchecked;
mod writers;

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Args, Command, Manifests, SettingsCommand};
use crate::diagnostic::Kind;
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::Report;
use crate::{config, excuse, output};

pub(crate) fn run(mut args: Args) -> Result<Exit, CliError> {
    let quiet = args.quiet;
    config::fill(&mut args)?;
    match args.command {
        Command::Lint(asked) => finish(lint::run(&asked)?, &asked.manifests, quiet),
        Command::Diff(asked) => finish(diff::run(&asked)?, &asked.manifests, quiet),
        Command::Review(asked) => review::run(&asked, quiet),
        Command::Replay(asked) => replay::run(&asked, quiet),
        Command::Conformance(asked) => conformance::run(&asked, quiet),
        Command::Rules {
            family,
            kind,
            output,
        } => list::rules(family.as_deref(), kind.as_deref(), output),
        Command::Explain { rule } => page::explain(&rule),
        Command::Kinds { output } => list::kinds(output),
        Command::Settings(SettingsCommand::Check { files, printing }) => {
            let report = settings::check(&files);
            output::print(&report, printing.output, quiet, false)?;
            Ok(Exit::first([(!report.unjudged.is_empty(), Exit::Unjudged)]))
        }
        Command::Settings(SettingsCommand::Writers(asked)) => writers::run(&asked, quiet),
        Command::Settings(SettingsCommand::Schema) => {
            io::stdout().write_all(settings::SCHEMA.as_bytes())?;
            Ok(Exit::Accepted)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "managed-by", &mut script);
            // If the name of the program has a hyphen, the bash script looks up a command's options under a different name
            // than it defines: <https://github.com/clap-rs/clap/issues/6421>.
            let script = String::from_utf8_lossy(&script);
            let script = script.replace("managed__subcmd__by", "managed__by");
            io::stdout().write_all(script.as_bytes())?;
            Ok(Exit::Accepted)
        }
        Command::Man { command } => page::man(&command),
    }
}

/// Prints the results for manifests, without known findings.
fn finish(mut report: Report, asked: &Manifests, quiet: bool) -> Result<Exit, CliError> {
    if asked.folders.skip_unreadable {
        report.skipped = report.forgive(Kind::Unreadable);
    }
    report.judge_by(&asked.judging);
    excuse::apply(&asked.known, &mut report)?;
    let judging = &asked.judging;
    let format = asked.printing.output;
    output::print(&report, format, quiet, judging.allow_empty)?;
    Ok(report.exit(judging))
}

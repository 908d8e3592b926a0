//! What each command does.

mod conformance;
mod diff;
mod lint;
mod list;
mod page;
mod replay;
pub use replay::Summary;
mod review;
mod settings;
mod writers;
pub use writers::{List, Listed, Proposal};

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Args, Command, Judging, Printing, SettingsCommand};
use crate::report::Report;
use crate::{Exit, Stop, config, excuse, output};

/// Runs a command.
///
/// # Errors
/// If it could not begin, or nobody reads what it prints.
pub fn run(mut args: Args) -> Result<Exit, Stop> {
    let quiet = args.quiet;
    config::fill(&mut args)?;
    match args.command {
        Command::Lint {
            paths,
            fix,
            folders,
            known,
            who,
            judging,
            printing,
        } => {
            let mut report = lint::run(&paths, fix, &folders, &who, &judging)?;
            excuse::apply(&known, &mut report)?;
            finish(&report, "lint", &judging, &printing, quiet)
        }
        Command::Diff {
            old,
            new,
            git,
            status,
            folders,
            known,
            who,
            judging,
            printing,
        } => {
            let sides = diff::Sides::new(old, new, git);
            let mut report = diff::run(&sides, status, &folders, &who, &judging)?;
            excuse::apply(&known, &mut report)?;
            finish(&report, "diff", &judging, &printing, quiet)
        }
        Command::Review {
            files,
            judging,
            printing,
        } => review::run(&files, &judging, &printing, quiet),
        Command::Replay {
            files,
            show,
            judging,
            printing,
        } => replay::run(&files, show, &judging, &printing, quiet),
        Command::Conformance {
            traces,
            controller,
            since,
            html,
            badge,
            settings,
            allow_empty,
            output,
        } => {
            let files = conformance::Files {
                html: html.as_deref(),
                badge: badge.as_deref(),
            };
            let judging = Judging {
                settings,
                allow_empty,
                ..Judging::default()
            };
            conformance::run(&traces, &controller, since, &judging, &files, output, quiet)
        }
        Command::Rules {
            family,
            kind,
            output,
        } => list::rules(family.as_deref(), kind.as_deref(), output),
        Command::Explain { rule } => page::explain(&rule),
        Command::Kinds { output } => list::kinds(output),
        Command::Settings(SettingsCommand::Check { files, printing }) => {
            let report = settings::check(&files);
            output::print(&report, "settings check", printing.output, quiet, false)?;
            Ok(if report.unjudged.is_empty() {
                Exit::Accepted
            } else {
                Exit::Unjudged
            })
        }
        Command::Settings(SettingsCommand::Writers {
            files,
            settings,
            output,
        }) => writers::run(&files, settings.as_deref(), output, quiet),
        Command::Settings(SettingsCommand::Schema) => {
            io::stdout().write_all(settings::SCHEMA.as_bytes())?;
            Ok(Exit::Accepted)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "managed-by", &mut script);
            // The script for bash looks for the options of a command under another name than it gives them, where the name of
            // the program has a hyphen: <https://github.com/clap-rs/clap/issues/6421>.
            let script = String::from_utf8_lossy(&script);
            let script = script.replace("managed__subcmd__by", "managed__by");
            io::stdout().write_all(script.as_bytes())?;
            Ok(Exit::Accepted)
        }
        Command::Man { command } => page::man(command.as_deref()),
    }
}

/// Prints a report.
fn finish(
    report: &Report,
    command: &str,
    judging: &Judging,
    printing: &Printing,
    quiet: bool,
) -> Result<Exit, Stop> {
    output::print(report, command, printing.output, quiet, judging.allow_empty)?;
    Ok(report.exit(judging))
}

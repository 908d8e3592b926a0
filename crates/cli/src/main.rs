//! The command line of managed-by-policy: checks manifests, changes and recordings without a cluster, and reports the status of the
//! workloads in one.

mod args;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::{CommandFactory as _, Parser as _};
use managed_by_console::escape::escape_control;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::print::print_diagnostics;
use managed_by_console::stderr;
use managed_by_console::value::suggestion;
use managed_by_linter::args::{Output, SettingsCommand};
use managed_by_linter::command::{diff, lint, list, page, replay, review, settings};
use managed_by_linter::config;
use managed_by_linter::output::print_fatal;
use managed_by_linter::report::ReportKind;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    let color = match args.color {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    color.write_global();
    let report = report(&args.command);
    let ran = run(args);
    if let (Err(error), Some((kind, format))) = (&ran, report) {
        // The status is that of the error.
        let _ = print_fatal(kind, format, error);
    }
    let exit = match ran {
        Ok(exit) => exit,
        Err(CliError::BrokenPipe) => ExitStatus::BrokenPipe,
        Err(CliError::Error(text)) => {
            stderr!("error: {}\n", escape_control(&text));
            ExitStatus::Error
        }
        Err(CliError::Diagnostics(diagnostics)) => {
            print_diagnostics(&diagnostics);
            ExitStatus::Error
        }
    };
    let exit = match io::stdout().flush() {
        Ok(()) => exit,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => ExitStatus::BrokenPipe,
        Err(_) => ExitStatus::Error,
    };
    ExitCode::from(exit as u8)
}

fn run(mut args: Args) -> Result<ExitStatus, CliError> {
    let quiet = args.quiet;
    if !args.no_config {
        configure(args.config.as_deref(), &mut args.command)?;
    }
    match args.command {
        Command::Lint(args) => lint::run(&args, quiet),
        Command::Diff(args) => diff::run(&args, quiet),
        Command::Review(args) => review::run(&args, quiet),
        Command::Replay(args) => replay::run(&args, quiet),
        Command::Conformance(args) => managed_by_conformance::run(&args, quiet),
        Command::Status(args) => managed_by_status::run(&args, quiet),
        Command::Rules {
            family,
            kind,
            output,
        } => list::rules(family.as_deref(), kind.as_deref(), output),
        Command::Explain { rule } => page::explain(&rule),
        Command::Kinds { output } => list::kinds(output),
        Command::Settings(command) => settings::run(&command, quiet),
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
        Command::Man { command } => man(&command),
    }
}

/// Returns the report that a command prints, and its format.
fn report(command: &Command) -> Option<(ReportKind, Output)> {
    Some(match command {
        Command::Lint(args) => (ReportKind::Lint, args.manifests.evaluation.output),
        Command::Diff(args) => (ReportKind::Diff, args.manifests.evaluation.output),
        Command::Review(args) => (ReportKind::Review, args.evaluation.output),
        Command::Replay(args) => (ReportKind::Replay, args.evaluation.output),
        Command::Settings(SettingsCommand::Check { output, .. }) => {
            (ReportKind::SettingsCheck, *output)
        }
        _ => return None,
    })
}

/// Applies a configuration file, or `managed-by.toml`, where the arguments set no value.
fn configure(file: Option<&Path>, command: &mut Command) -> Result<(), CliError> {
    match command {
        Command::Lint(args) => config::apply_to_manifests(file, &mut args.manifests),
        Command::Diff(args) => config::apply_to_manifests(file, &mut args.manifests),
        Command::Review(args) => config::apply_to_evaluation(file, &mut args.evaluation),
        Command::Replay(args) => config::apply_to_evaluation(file, &mut args.evaluation),
        Command::Conformance(args) => config::apply_to_settings(file, &mut args.settings),
        Command::Status(args) => config::apply_to_settings(file, &mut args.settings),
        Command::Settings(SettingsCommand::Writers(args)) => {
            config::apply_to_settings(file, &mut args.settings)
        }
        _ => Ok(()),
    }
}

fn man(command: &[String]) -> Result<ExitStatus, CliError> {
    let mut program = Args::command();
    program.build();
    let mut parent = &program;
    for name in command {
        parent = parent.find_subcommand(name).ok_or_else(|| {
            let near = suggestion(name, parent.get_subcommands().map(clap::Command::get_name));
            CliError::Error(format!("unknown command {}{near}", command.join(" ")))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(parent.clone()).render(&mut page)?;
    io::stdout().write_all(&page)?;
    Ok(ExitStatus::Accepted)
}

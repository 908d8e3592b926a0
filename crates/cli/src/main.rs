//! The command line of managed-by-policy: checks manifests, changes and recordings without a cluster, and reports the status of the
//! workloads in one.
//!
//! A command reads files ([`input`]), evaluates them with `managed-by-offline`, and fills a [`report::Report`]; [`output`]
//! prints it. A [`conformance`] report is built apart. All verdicts come from the library.

mod args;
mod command;
mod config;
mod conformance;
mod counts;
mod diagnostic;
mod exit;
mod files;
mod fix;
mod format;
mod git;
mod hint;
mod input;
mod interrupt;
mod kustomize;
mod output;
mod recording;
mod report;
mod result;
mod status;
mod stderr;
mod stream;
mod suppression;

use std::io::{self, Write as _};
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser as _;

use args::Args;
use exit::{CliError, ExitStatus};
use stderr::stderr;

fn main() -> ExitCode {
    let args = Args::parse();
    let color = match args.color {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    color.write_global();
    let exit = match command::run(args) {
        Ok(exit) => exit,
        Err(CliError::BrokenPipe) => ExitStatus::BrokenPipe,
        Err(CliError::Error(text)) => {
            stderr!("error: {}\n", output::escape::escape_control(&text));
            ExitStatus::Error
        }
        Err(CliError::Diagnostics(diagnostics)) => {
            for diagnostic in &diagnostics {
                stderr!("{}", output::text::render_diagnostic(diagnostic));
            }
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

//! The command line of managed-by-policy: checks manifests, changes and recordings without a cluster.
//!
//! A command reads files ([`input`]), evaluates them with `managed-by-offline`, and fills a [`report::Report`]; [`output`]
//! prints it. All verdicts come from the library.

mod args;
mod command;
mod config;
mod diagnostic;
mod error;
mod excuse;
mod exit;
mod files;
mod fix;
mod git;
mod hint;
mod input;
mod output;
mod proposal;
mod release;
mod report;
mod stop;
mod stream;
mod summary;
mod words;

use std::io::{self, Write as _};
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser as _;

use args::{Args, Color};
use error::CliError;
use exit::Exit;

fn main() -> ExitCode {
    let args = Args::parse();
    let choice = match args.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    choice.write_global();
    let exit = match command::run(args) {
        Ok(exit) => exit,
        Err(CliError::BrokenPipe) => Exit::BrokenPipe,
        Err(CliError::Error(text)) => {
            anstream::eprintln!("error: {}", output::plain::plain(&text));
            Exit::Unjudged
        }
        Err(CliError::Diagnostics(problems)) => {
            for problem in &problems {
                anstream::eprint!("{}", output::text::diagnostic(problem));
            }
            Exit::Unjudged
        }
    };
    match io::stdout().flush() {
        Ok(()) => exit.into(),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Exit::BrokenPipe.into(),
        Err(_) => Exit::Unjudged.into(),
    }
}

//! The command line of managed-by-policy: checks manifests, changes and recordings, without a cluster.
//!
//! A command reads files ([`input`]), asks the library through `managed-by-offline`, and fills a
//! [`report::Report`]; [`output`] prints it. Nothing here decides a verdict.

mod args;
mod command;
mod config;
mod excuse;
mod fix;
mod git;
mod hint;
mod input;
mod output;
mod report;
mod stop;
mod stream;

use std::io::{self, Write as _};
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::Parser as _;

use args::{Args, Color};
use report::Complaint;

/// How a run ended, with the exit code.
#[derive(Debug, Clone, Copy)]
enum Exit {
    /// Nothing was denied.
    Accepted = 0,
    /// Something was denied.
    Denied = 1,
    /// Something could not be judged: bad input, bad settings, bad usage.
    Unjudged = 2,
    /// Nothing was judged at all.
    Nothing = 3,
}

impl Exit {
    /// How a run ends in which these came about.
    fn of(is_unjudged: bool, is_denied: bool, is_nothing: bool) -> Self {
        if is_unjudged {
            Self::Unjudged
        } else if is_denied {
            Self::Denied
        } else if is_nothing {
            Self::Nothing
        } else {
            Self::Accepted
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command stopped.
#[derive(Debug)]
enum Stop {
    /// Whoever reads the output has gone: nothing is left to do.
    BrokenPipe,
    /// Something that the user should know.
    Error(String),
    /// Settings that cannot be used.
    Settings(Vec<Complaint>),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Error(error.to_string()),
        }
    }
}

/// Runs the program with the arguments of the process.
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
        Err(Stop::BrokenPipe) => Exit::Accepted,
        Err(Stop::Error(text)) => {
            anstream::eprintln!("error: {}", output::plain::plain(&text));
            Exit::Unjudged
        }
        Err(Stop::Settings(problems)) => {
            for problem in &problems {
                anstream::eprint!("{}", output::text::unjudged(problem));
            }
            Exit::Unjudged
        }
    };
    match io::stdout().flush() {
        Ok(()) => exit.into(),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => exit.into(),
        Err(_) => Exit::Unjudged.into(),
    }
}

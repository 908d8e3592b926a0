//! The exit status of a run, and errors that stop a command.

use std::io;

use crate::diagnostic::Diagnostic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    Accepted = 0,
    Denied = 1,
    /// Something could not be evaluated: invalid input, settings or usage.
    Error = 2,
    /// Nothing was evaluated, or not all of a conformance profile.
    NothingEvaluated = 3,
    /// The output was closed: the status that a shell reports for a program killed by SIGPIPE.
    BrokenPipe = 141,
}

impl ExitStatus {
    /// Returns the first status whose condition is true.
    pub fn first(conditions: impl IntoIterator<Item = (bool, Self)>) -> Self {
        let mut conditions = conditions.into_iter().filter(|(is_true, _)| *is_true);
        conditions
            .next()
            .map_or(Self::Accepted, |(_, status)| status)
    }
}

#[derive(Debug)]
pub enum CliError {
    /// The reader of the output closed it.
    BrokenPipe,
    /// An error without a position.
    Error(String),
    /// Errors in a file, such as invalid settings.
    Diagnostics(Vec<Diagnostic>),
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Error(error.to_string()),
        }
    }
}

impl From<Diagnostic> for CliError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Diagnostics(vec![diagnostic])
    }
}

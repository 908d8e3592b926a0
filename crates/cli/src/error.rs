//! Errors that stop a command.

use std::io;

use crate::diagnostic::Diagnostic;

/// The error type of commands.
#[derive(Debug)]
pub(crate) enum CliError {
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

//! The exit status of a run.

use std::process::ExitCode;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing was denied.
    Accepted = 0,
    /// A request was denied.
    Denied = 1,
    /// Something could not be evaluated: invalid input, settings or usage.
    Unjudged = 2,
    /// Nothing was evaluated.
    Nothing = 3,
    /// The output was closed: the status that a shell reports for a program ended by SIGPIPE.
    BrokenPipe = 141,
}

impl Exit {
    /// Returns the first status whose condition is true.
    pub(crate) fn first(happened: impl IntoIterator<Item = (bool, Self)>) -> Self {
        let mut happened = happened
            .into_iter()
            .filter(|(has_happened, _)| *has_happened);
        happened.next().map_or(Self::Accepted, |(_, exit)| exit)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

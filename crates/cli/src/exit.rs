//! How a run ends.

use std::process::ExitCode;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing was denied.
    Accepted = 0,
    /// Something was denied.
    Denied = 1,
    /// Something could not be judged: bad input, bad settings, bad usage.
    Unjudged = 2,
    /// Nothing was judged at all.
    Nothing = 3,
    /// Nobody reads the output any more: the status that a shell gives a program that SIGPIPE ended.
    BrokenPipe = 141,
}

impl Exit {
    /// The exit status of a run in which these happened: the first of them that is given counts.
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

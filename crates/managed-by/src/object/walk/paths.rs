//! The paths of a kind, and sets of them.

use bitflags::bitflags;

use crate::kind::status::{Attempts, CONDITIONS, StatusMatcher, StatusProfile};
use crate::kind::{Kind, Template};

/// What is at the end of a path.
#[derive(Clone, Copy)]
pub(super) enum Leaf<'k> {
    /// The field itself.
    ManagedBy,
    /// An object, or the spec of one, that a controller will make.
    Template(&'k Template<'k>),
    /// How often the workload may be tried again.
    Retries,
    /// A list of conditions. The profile names the ones that count.
    Conditions(&'k StatusProfile<'k>),
    /// A word for the state, with its path.
    State(&'k str),
    /// The word that repeats the outcome.
    TerminalState,
    /// The word that tells how the workload came to its outcome.
    Reason,
    /// A list of the statuses of earlier attempts.
    Attempts(Attempts<'k>),
    Start,
    End,
    /// A number that counts something.
    Counter,
    /// A number that only goes up, with its place among them.
    Total(usize),
}

/// The paths of a kind, each with what is at its end.
pub(super) struct Paths<'k>(Vec<(&'k str, Leaf<'k>)>);

impl<'k> Paths<'k> {
    pub(super) fn of(kind: &'k Kind<'k>) -> Self {
        let Self(mut paths) = Self::of_spec(kind);
        paths.extend(kind.retries.map(|path| (path, Leaf::Retries)));
        let Some(status) = kind.status_profile() else {
            return Self(paths);
        };
        let mut has_conditions = status.exclusive.is_some();
        if let Some(outcome) = &status.outcome {
            let signs = [outcome.success, outcome.failure];
            let others = [outcome.dead_end, outcome.deployed];
            for sign in signs.into_iter().chain(others).flatten() {
                match sign {
                    StatusMatcher::Condition { .. } => has_conditions = true,
                    StatusMatcher::Field { path, .. }
                        if paths.iter().all(|(known, _)| *known != path) =>
                    {
                        paths.push((path, Leaf::State(path)));
                    }
                    StatusMatcher::Field { .. } => {}
                }
            }
            paths.extend(outcome.reason.map(|sign| (sign.path(), Leaf::Reason)));
            let attempts = outcome.attempts;
            paths.extend(attempts.map(|attempts| (attempts.path, Leaf::Attempts(attempts))));
        }
        if has_conditions {
            paths.push((CONDITIONS, Leaf::Conditions(status)));
        }
        let state = status.terminal_state;
        paths.extend(state.map(|path| (path, Leaf::TerminalState)));
        paths.extend(status.start.map(|path| (path, Leaf::Start)));
        paths.extend(status.end.map(|end| (end.path, Leaf::End)));
        paths.extend(status.counters.iter().map(|path| (*path, Leaf::Counter)));
        let totals = status.totals.iter().enumerate();
        paths.extend(totals.map(|(place, path)| (*path, Leaf::Total(place))));
        Self(paths)
    }

    /// The paths of a template that holds the spec of a kind: there is no status in it.
    pub(super) fn of_spec(kind: &'k Kind<'k>) -> Self {
        let mut paths = vec![(kind.managed_by, Leaf::ManagedBy)];
        let templates = kind.templates.iter();
        paths.extend(templates.map(|(path, template)| (*path, Leaf::Template(template))));
        Self(paths)
    }

    pub(super) fn all(&self) -> Set {
        Set::first(self.0.len())
    }

    pub(super) fn get(&self, index: usize) -> Option<&(&'k str, Leaf<'k>)> {
        self.0.get(index)
    }
}

/// What stands in a path for each element of a list or map.
pub(super) const EACH: &str = "[]";

/// What the paths into a spec begin with.
pub(super) const SPEC: &str = "spec";

bitflags! {
    /// A set of paths, by their indexes.
    #[derive(Clone, Copy)]
    pub(super) struct Set: u64 {
        const _ = !0;
    }
}

impl Set {
    /// The first `len` paths.
    fn first(len: usize) -> Self {
        let unused = 64_usize.saturating_sub(len);
        let unused = u32::try_from(unused).unwrap_or(0);
        Self::from_bits_retain(u64::MAX.checked_shr(unused).unwrap_or(0))
    }

    pub(super) fn of(index: usize) -> Self {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        Self::from_bits_retain(1_u64.checked_shl(index).unwrap_or(0))
    }

    pub(super) fn indexes(self) -> impl Iterator<Item = usize> {
        let mut left = self.bits();
        std::iter::from_fn(move || {
            let first = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (first < 64).then_some(first as usize)
        })
    }
}

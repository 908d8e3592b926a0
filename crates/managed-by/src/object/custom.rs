//! The parts of a custom resource that rules read: the objects that controllers create from it, and its status.

use std::borrow::Cow;

use crate::kind::Kind;
use crate::kind::status::{FailureReasons, Outcome, StatusMatcher, TerminalStates};
use crate::upstream::time::Time;

/// The most nested values, and the most negative counters, that are read.
pub(crate) const MAX_NESTED: usize = 1000;

/// The most templates that are read: each costs a walk of its own, and 20,000 of them fit into a request.
pub(crate) const MAX_TEMPLATES: usize = 1000;

/// The parts of a custom resource that rules read, besides the field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Custom<'a> {
    /// The values of `managedBy` in its templates, other than reserved ones, in their order.
    pub(crate) nested: Vec<Nested<'a>>,
    pub(crate) status: Status<'a>,
    /// The number of retries that its spec allows.
    pub(crate) retries: usize,
}

/// A value of `managedBy` in a template.
#[derive(Debug, Clone)]
pub(crate) struct Nested<'a> {
    /// For example `spec.replicatedJobs[2].template.spec.managedBy`.
    pub(crate) path: String,
    /// The kind that is made of the template.
    pub(crate) kind: &'a Kind<'a>,
    /// The value; [`None`] for a template that was not read: too deep down, or after a thousand others.
    pub(crate) value: Option<Cow<'a, str>>,
    /// How many templates it is in.
    pub(crate) depth: usize,
    /// The kind that the template is part of, if that is nested too.
    pub(crate) parent_kind: Option<&'a Kind<'a>>,
    /// The `managedBy` of what the template is part of, if that is nested too.
    pub(crate) parent: Option<Cow<'a, str>>,
}

impl<'a> Nested<'a> {
    /// Whether another one makes the same kind.
    pub(crate) fn is_of_kind(&self, other: &Self) -> bool {
        std::ptr::eq(self.kind, other.kind)
    }

    pub(super) fn unread(kind: &'a Kind<'a>, path: String) -> Self {
        Self {
            path,
            kind,
            value: None,
            depth: 0,
            parent_kind: None,
            parent: None,
        }
    }
}

/// A status, by what rules judge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Status<'a> {
    /// The states that it says the workload is in.
    pub(crate) states: TerminalStates,
    /// What it says of a failure.
    pub(crate) failure_reasons: FailureReasons,
    /// Which of the two conditions that exclude each other are true.
    pub(crate) exclusive: (bool, bool),
    /// Whether the status says that the children of the workload still exist.
    pub(crate) is_deployed: bool,
    /// The word that repeats the outcome, if there is one.
    pub(crate) terminal_state: Option<Cow<'a, str>>,
    /// The reason of the outcome, if the profile lists it as a final one.
    pub(crate) reason: Option<Cow<'a, str>>,
    pub(crate) start: Option<Time>,
    pub(crate) end: Option<Time>,
    /// The counters that only go up, in the order of the profile.
    pub(crate) totals: Vec<i64>,
    /// How many earlier attempts are listed.
    pub(crate) attempts: usize,
    /// The counters below zero, by path.
    pub(crate) negative: Vec<(String, i64)>,
}

impl Status<'_> {
    /// Adds what an outcome derives from a part of the status, by the matchers that match it.
    pub(super) fn add(
        &mut self,
        outcome: &Outcome<'_>,
        matches: impl Fn(&StatusMatcher<'_>) -> bool,
    ) {
        for (state, matcher) in outcome.terminal_states() {
            if matcher.as_ref().is_some_and(&matches) {
                self.states |= state;
            }
        }
        self.is_deployed |= outcome.deployed.as_ref().is_some_and(matches);
    }

    /// A counter that only goes up, by its place in the profile; 0 where it is not given.
    pub(crate) fn total(&self, index: usize) -> i64 {
        self.totals.get(index).copied().unwrap_or_default()
    }
}

/// An empty status.
pub(crate) static NO_STATUS: Status<'static> = Status {
    states: TerminalStates::empty(),
    failure_reasons: FailureReasons::empty(),
    exclusive: (false, false),
    is_deployed: false,
    terminal_state: None,
    reason: None,
    start: None,
    end: None,
    totals: Vec::new(),
    attempts: 0,
    negative: Vec::new(),
};

//! Custom resources: the nested objects in their templates, and their status. [`super::walk`] decodes them for the
//! `managed-by/template` and `status/...` rules.

use std::borrow::Cow;

use crate::decode::Raw;
use crate::kind::Kind;
use crate::kind::status::{FailureReasons, OutcomeProfile, StatusMatcher, TerminalStates};
use crate::upstream::time::Time;

/// Maximum number of nested values, and of negative counters.
pub(crate) const MAX_NESTED: usize = 1000;

/// Maximum number of templates to read: each needs a walk of its own, and 20,000 of them fit into a request.
pub(crate) const MAX_TEMPLATES: usize = 1000;

/// Fields of a custom resource that rules read, besides `managedBy`.
#[derive(Debug, Clone, Default)]
pub(crate) struct CustomResource<'a> {
    /// Values of `managedBy` in its templates, in order, except reserved values.
    pub(crate) nested: Vec<NestedManagedBy<'a>>,
    pub(crate) status: Status<'a>,
    pub(crate) retries: usize,
    /// Labels of the objects that are created from the template.
    pub(crate) template_labels: Option<Raw<'a>>,
    /// Seconds after which the workload is deleted that has ended.
    pub(crate) ttl: Option<i64>,
}

/// Value of `managedBy` in a template.
#[derive(Debug, Clone)]
pub(crate) struct NestedManagedBy<'a> {
    /// Path, such as `spec.replicatedJobs[2].template.spec.managedBy`.
    pub(crate) path: String,
    /// Kind of the template's objects.
    pub(crate) kind: &'a Kind<'a>,
    /// The value, or [`None`] for a skipped template: too deep, or after a thousand others.
    pub(crate) value: Option<Cow<'a, str>>,
    pub(crate) depth: usize,
    /// Kind of the nested object with the template, or [`None`] in the outer object.
    pub(crate) parent_kind: Option<&'a Kind<'a>>,
    /// Its `managedBy`.
    pub(crate) parent_managed_by: Option<Cow<'a, str>>,
}

impl<'a> NestedManagedBy<'a> {
    pub(crate) fn has_same_kind(&self, other: &Self) -> bool {
        std::ptr::eq(self.kind, other.kind)
    }

    pub(super) fn skipped(kind: &'a Kind<'a>, path: String) -> Self {
        Self {
            path,
            kind,
            value: None,
            depth: 0,
            parent_kind: None,
            parent_managed_by: None,
        }
    }
}

/// Status of a custom resource, with the fields that rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Status<'a> {
    /// Terminal states that the status matches.
    pub(crate) states: TerminalStates,
    /// Failure reasons that the status matches.
    pub(crate) failure_reasons: FailureReasons,
    /// True for each of the two exclusive conditions that is True.
    pub(crate) exclusive: (bool, bool),
    /// True if the status matches [`OutcomeProfile::deployed`].
    pub(crate) is_deployed: bool,
    /// Field that repeats the outcome.
    pub(crate) terminal_state: Option<Cow<'a, str>>,
    /// Reason of the outcome, if the profile lists it as final.
    pub(crate) reason: Option<Cow<'a, str>>,
    pub(crate) start: Option<Time>,
    pub(crate) end: Option<Time>,
    /// Counters that never decrease, in the order of the profile.
    pub(crate) monotonic_counters: Vec<i64>,
    pub(crate) attempts: usize,
    /// Negative counters with their paths.
    pub(crate) negative: Vec<(String, i64)>,
}

impl Status<'_> {
    /// Adds the states of an outcome whose matchers match a part of the status.
    pub(super) fn add(
        &mut self,
        outcome: &OutcomeProfile<'_>,
        matches: impl Fn(&StatusMatcher<'_>) -> bool,
    ) {
        for (state, matcher) in outcome.terminal_states() {
            if matcher.as_ref().is_some_and(&matches) {
                self.states |= state;
            }
        }
        self.is_deployed |= outcome.deployed.as_ref().is_some_and(matches);
    }

    /// Returns a counter that never decreases, by its index in the profile; 0 if unset.
    pub(crate) fn monotonic_counter(&self, index: usize) -> i64 {
        self.monotonic_counters
            .get(index)
            .copied()
            .unwrap_or_default()
    }
}

pub(crate) static EMPTY_STATUS: Status<'static> = Status {
    states: TerminalStates::empty(),
    failure_reasons: FailureReasons::empty(),
    exclusive: (false, false),
    is_deployed: false,
    terminal_state: None,
    reason: None,
    start: None,
    end: None,
    monotonic_counters: Vec::new(),
    attempts: 0,
    negative: Vec::new(),
};

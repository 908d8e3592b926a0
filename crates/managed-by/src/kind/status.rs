//! Status profiles of custom resources: the fields and conditions that show outcomes, times and counters, and the invariants that
//! the `status/...` rules check.

use std::fmt;

use bitflags::bitflags;

use super::transitions::AllowedTransition;
pub(crate) use super::transitions::TerminalStates;

bitflags! {
    /// Set of failure reasons that decide which transitions are allowed.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct FailureReasons: u8 {
        /// `DeadlineExceeded` of a TrainJob: final, unlike its other failures, and possible after a success.
        const DEADLINE_EXCEEDED = 1;
        /// `TaskRunStopSidecarFailed` of a TaskRun: it succeeded, but its sidecars could not be stopped.
        const STOP_SIDECAR_FAILED = 2;
        /// The same reason in the last entry of `status.retriesStatus`.
        const LAST_ATTEMPT_STOP_SIDECAR_FAILED = 4;
    }
}

/// Matcher of a condition or a field in a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusMatcher<'k> {
    /// An entry of `status.conditions`.
    Condition {
        condition: &'k str,
        status: &'k str,
        /// The condition's reason, or [`None`] for any.
        reason: Option<&'k str>,
    },
    /// A field with one of several values.
    Field {
        path: &'k str,
        values: &'k [&'k str],
    },
}

pub(crate) const CONDITIONS: &str = "status.conditions";

pub(crate) const fn condition_true(condition: &str) -> StatusMatcher<'_> {
    StatusMatcher::Condition {
        condition,
        status: "True",
        reason: None,
    }
}

pub(crate) const fn condition_false(condition: &str) -> StatusMatcher<'_> {
    StatusMatcher::Condition {
        condition,
        status: "False",
        reason: None,
    }
}

pub(crate) const fn condition_with_reason<'k>(
    condition: &'k str,
    status: &'k str,
    reason: &'k str,
) -> StatusMatcher<'k> {
    StatusMatcher::Condition {
        condition,
        status,
        reason: Some(reason),
    }
}

impl<'k> StatusMatcher<'k> {
    /// Returns the path of the field or of the conditions.
    pub(crate) fn path(&self) -> &'k str {
        match *self {
            Self::Condition { .. } => CONDITIONS,
            Self::Field { path, .. } => path,
        }
    }

    /// Returns true if the matcher matches a field with the given value.
    pub(crate) fn has_value(&self, value: &str) -> bool {
        matches!(self, Self::Field { values, .. } if values.contains(&value))
    }

    /// Returns true if both matchers read the same condition type or the same field, so that at most one can match.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        match (*self, *other) {
            (
                Self::Condition { condition, .. },
                Self::Condition {
                    condition: other, ..
                },
            ) => condition == other,
            (Self::Field { path, .. }, Self::Field { path: other, .. }) => path == other,
            _ => false,
        }
    }
}

/// Formats the matcher for messages: `Succeeded=False` for a condition, `Failed or Stopped` for the values of a field.
impl fmt::Display for StatusMatcher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Condition {
                condition,
                status,
                reason: _,
            } => write!(f, "{condition}={status}"),
            Self::Field { values, .. } => f.write_str(&values.join(" or ")),
        }
    }
}

/// Profile of a kind's status: the paths to read, and the invariants to check. Fields that are `None` or empty are not checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusProfile<'k> {
    /// Outcomes, if workloads of the kind finish.
    pub(crate) outcome: Option<OutcomeProfile<'k>>,
    pub(crate) start: Option<&'k str>,
    pub(crate) end: Option<EndTime<'k>>,
    /// Counters that are never negative. `[]` stands for each element of a list or map.
    pub(crate) counters: &'k [&'k str],
    /// Counters that also never decrease.
    pub(crate) monotonic_counters: &'k [&'k str],
    /// Two conditions that are never both True.
    pub(crate) exclusive: Option<(&'k str, &'k str)>,
    /// Path of the field that repeats the type of the outcome's condition.
    pub(crate) terminal_state: Option<&'k str>,
}

impl StatusProfile<'_> {
    pub(crate) const EMPTY: StatusProfile<'static> = StatusProfile {
        outcome: None,
        start: None,
        end: None,
        counters: &[],
        monotonic_counters: &[],
        exclusive: None,
        terminal_state: None,
    };
}

/// Outcomes of a kind: their matchers, and the transitions that are allowed after them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutcomeProfile<'k> {
    /// [`None`] only for a declared kind without a success.
    pub(crate) success: Option<StatusMatcher<'k>>,
    /// [`None`] only for a declared kind without a failure.
    pub(crate) failure: Option<StatusMatcher<'k>>,
    /// [`TerminalStates::DEAD_END`], if the kind has one.
    pub(crate) dead_end: Option<StatusMatcher<'k>>,
    /// The ways in which a status may have both outcomes.
    pub(crate) dual: DualOutcome,
    pub(crate) failure_reasons: &'k [(FailureReasons, StatusMatcher<'k>)],
    /// Matches while the resources that the workload created still exist.
    pub(crate) deployed: Option<StatusMatcher<'k>>,
    /// The field with the reason of the outcome, and its final values.
    pub(crate) reason: Option<StatusMatcher<'k>>,
    /// The list of earlier attempts, which the built-in controller never shortens.
    pub(crate) attempts: Option<Attempts<'k>>,
    /// The kind's state table.
    pub(crate) allowed_transitions: &'static [AllowedTransition],
}

impl<'k> OutcomeProfile<'k> {
    /// Creates an outcome that is final without exceptions.
    pub(crate) const fn new(success: StatusMatcher<'k>, failure: StatusMatcher<'k>) -> Self {
        Self::partial(Some(success), Some(failure))
    }

    /// Creates a final outcome for a status that may show only success or only failure.
    pub(crate) const fn partial(
        success: Option<StatusMatcher<'k>>,
        failure: Option<StatusMatcher<'k>>,
    ) -> Self {
        Self {
            success,
            failure,
            dead_end: None,
            dual: DualOutcome::Never,
            failure_reasons: &[],
            deployed: None,
            reason: None,
            attempts: None,
            allowed_transitions: &[],
        }
    }

    pub(crate) fn terminal_states(&self) -> [(TerminalStates, Option<StatusMatcher<'k>>); 3] {
        [
            (TerminalStates::SUCCEEDED, self.success),
            (TerminalStates::FAILED, self.failure),
            (TerminalStates::DEAD_END, self.dead_end),
        ]
    }

    /// Returns true if success and failure are values of the same condition or field, so that a status can't have both.
    pub(crate) fn outcomes_are_exclusive(&self) -> bool {
        let matchers = self.success.zip(self.failure);
        matchers.is_some_and(|(success, failure)| success.excludes(&failure))
    }

    pub(crate) fn path(&self) -> &'k str {
        let matcher = self.success.or(self.failure);
        matcher.map_or(CONDITIONS, |matcher| matcher.path())
    }

    /// Returns the short name of a matcher: the type of a condition that is True, unless one condition has both outcomes.
    pub(crate) fn name(&self, matcher: &StatusMatcher<'_>) -> String {
        match matcher {
            StatusMatcher::Condition {
                condition,
                status: "True",
                ..
            } if !self.outcomes_are_exclusive() => (*condition).to_owned(),
            matcher => matcher.to_string(),
        }
    }
}

/// The ways in which the built-in controller writes both a success and a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DualOutcome {
    /// It never does.
    Never,
    /// It may fail a workload that has succeeded.
    AfterSuccess,
    /// It may write both in one update.
    Allowed,
}

/// List of earlier attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts<'k> {
    pub(crate) path: &'k str,
    /// Failure reasons of the last attempt, each with its matcher.
    pub(crate) failure_reasons: &'k [(FailureReasons, StatusMatcher<'k>)],
}

/// End time of a workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndTime<'k> {
    pub(crate) path: &'k str,
    /// True if only a status with an outcome has an end time.
    pub(crate) needs_outcome: bool,
    /// The outcomes that always have an end time.
    pub(crate) required_by: TerminalStates,
}

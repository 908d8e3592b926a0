//! Condition lists in the status of custom resources.

use std::borrow::Cow;

use crate::decode::Raw;
use crate::kind::status::{FailureReasons, Outcome, StatusMatcher, StatusProfile, is_true};
use crate::object::custom::Status;

/// Conditions to read. If a type has several entries, the first one wins, as in upstream lookups (knative's `GetCondition`, the
/// `getCondition`s of the operators). A list map by type has no duplicates.
#[derive(Default)]
pub(super) struct Conditions<'p> {
    pub(super) exclusive: Option<(&'p str, &'p str)>,
    pub(super) outcome: Option<&'p Outcome<'p>>,
    pub(super) failure_reasons: &'p [(FailureReasons, StatusMatcher<'p>)],
}

impl<'p> Conditions<'p> {
    pub(super) fn from_profile(profile: &'p StatusProfile<'p>) -> Self {
        let outcome = profile.outcome.as_ref();
        Self {
            exclusive: profile.exclusive,
            outcome,
            failure_reasons: outcome.map_or(&[], |outcome| outcome.failure_reasons),
        }
    }

    /// Adds the conditions of a list to a status.
    pub(super) fn read(&self, list: Raw<'_>, status: &mut Status<'_>) {
        let mut seen = Vec::new();
        list.for_each(|entry: Raw<'_>| {
            let condition = Condition::read(entry);
            if let Some(name) = &condition.name
                && self.reads(name)
                && !seen.contains(name)
            {
                self.add(&condition, status);
                seen.push(name.clone());
            }
        });
    }

    fn add(&self, condition: &Condition<'_>, status: &mut Status<'_>) {
        let matches = |matcher: &StatusMatcher<'_>| condition.matches(matcher);
        for (reason, matcher) in self.failure_reasons {
            if matches(matcher) {
                status.failure_reasons |= *reason;
            }
        }
        if let Some((first, second)) = self.exclusive {
            status.exclusive.0 |= matches(&is_true(first));
            status.exclusive.1 |= matches(&is_true(second));
        }
        if let Some(outcome) = self.outcome {
            status.add(outcome, matches);
        }
    }

    /// Returns true if a matcher reads conditions of a type.
    fn reads(&self, condition: &str) -> bool {
        let reads = |matcher: &StatusMatcher<'_>| matches!(matcher, StatusMatcher::Condition { condition: c, .. } if *c == condition);
        self.failure_reasons.iter().any(|(_, m)| reads(m))
            || self
                .exclusive
                .is_some_and(|(a, b)| [a, b].contains(&condition))
            || self.outcome.is_some_and(|o| {
                let matchers = [o.success, o.failure, o.dead_end, o.deployed];
                matchers.iter().flatten().any(reads)
            })
    }
}

/// Entry of the list. Values of the wrong type are absent.
#[derive(Default)]
struct Condition<'a> {
    name: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
    reason: Option<Cow<'a, str>>,
}

impl<'a> Condition<'a> {
    fn read(entry: Raw<'a>) -> Self {
        let mut condition = Self::default();
        for (name, value) in entry.members() {
            match &*name {
                "type" => condition.name = value.string(),
                "status" => condition.status = value.string(),
                "reason" => condition.reason = value.string(),
                _ => {}
            }
        }
        condition
    }
}

impl Condition<'_> {
    fn matches(&self, matcher: &StatusMatcher<'_>) -> bool {
        let StatusMatcher::Condition {
            condition,
            status,
            reason,
        } = *matcher
        else {
            return false;
        };
        self.name.as_deref() == Some(condition)
            && self.status.as_deref() == Some(status)
            && (reason.is_none() || self.reason.as_deref() == reason)
    }
}

//! Condition lists in the status of custom resources.

use std::borrow::Cow;

use crate::decode::Raw;
use crate::kind::status::{
    FailureReasons, OutcomeProfile, StatusMatcher, StatusProfile, condition_true,
};
use crate::object::custom::Status;

/// Parts of a status profile that refer to conditions. If a type has several entries, the first one wins, as in upstream helpers
/// (Knative's `GetCondition`, `getCondition` of the operators). Lists with `x-kubernetes-list-type: map` have no duplicates.
#[derive(Default)]
pub(super) struct ConditionMatchers<'p> {
    pub(super) exclusive: Option<(&'p str, &'p str)>,
    pub(super) outcome: Option<&'p OutcomeProfile<'p>>,
    pub(super) failure_reasons: &'p [(FailureReasons, StatusMatcher<'p>)],
}

impl<'p> ConditionMatchers<'p> {
    pub(super) fn from_profile(profile: &'p StatusProfile<'p>) -> Self {
        let outcome = profile.outcome.as_ref();
        Self {
            exclusive: profile.exclusive,
            outcome,
            failure_reasons: outcome.map_or(&[], |outcome| outcome.failure_reasons),
        }
    }

    pub(super) fn read(&self, list: Raw<'_>, status: &mut Status<'_>) {
        let mut seen = Vec::new();
        list.for_each(|entry: Raw<'_>| {
            let condition = Condition::read(entry);
            if let Some(r#type) = &condition.r#type
                && self.is_relevant(r#type)
                && !seen.contains(r#type)
            {
                self.add(&condition, status);
                seen.push(r#type.clone());
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
            status.exclusive.0 |= matches(&condition_true(first));
            status.exclusive.1 |= matches(&condition_true(second));
        }
        if let Some(outcome) = self.outcome {
            status.add(outcome, matches);
        }
    }

    /// Returns true if any matcher refers to conditions of this type.
    fn is_relevant(&self, condition: &str) -> bool {
        let refers = |matcher: &StatusMatcher<'_>| matches!(matcher, StatusMatcher::Condition { condition: c, .. } if *c == condition);
        self.failure_reasons.iter().any(|(_, m)| refers(m))
            || self
                .exclusive
                .is_some_and(|(a, b)| [a, b].contains(&condition))
            || self.outcome.is_some_and(|o| {
                let matchers = [o.success, o.failure, o.dead_end, o.deployed];
                matchers.iter().flatten().any(refers)
            })
    }
}

/// A condition. Fields of the wrong type are treated as absent.
#[derive(Default)]
struct Condition<'a> {
    r#type: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
    reason: Option<Cow<'a, str>>,
}

impl<'a> Condition<'a> {
    fn read(entry: Raw<'a>) -> Self {
        let mut condition = Self::default();
        for (name, value) in entry.members() {
            match &*name {
                "type" => condition.r#type = value.string(),
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
        self.r#type.as_deref() == Some(condition)
            && self.status.as_deref() == Some(status)
            && (reason.is_none() || self.reason.as_deref() == reason)
    }
}

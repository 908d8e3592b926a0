//! What lists of conditions say.

use std::borrow::Cow;

use crate::decode::Raw;
use crate::kind::status::{FailureReasons, StatusMatcher, StatusProfile, TerminalStates, is_true};

/// What a list of conditions says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConditionFacts {
    pub(super) ends: TerminalStates,
    pub(super) notes: FailureReasons,
    pub(super) exclusive: (bool, bool),
    pub(super) is_deployed: bool,
}
/// A list of conditions. If several have the same type, the first one counts, as in the code that looks one up (knative's
/// `GetCondition`, the `getCondition`s of the operators). A list that is a map by type has no others.
pub(super) struct Conditions<'p, 'a> {
    profile: Option<&'p StatusProfile<'p>>,
    notes: &'p [(FailureReasons, StatusMatcher<'p>)],
    seen: Vec<Cow<'a, str>>,
    pub(super) facts: ConditionFacts,
}

impl<'p> Conditions<'p, '_> {
    pub(super) fn new(
        notes: &'p [(FailureReasons, StatusMatcher<'p>)],
        profile: Option<&'p StatusProfile<'p>>,
    ) -> Self {
        let outcome = profile.and_then(|p| p.outcome.as_ref());
        Self {
            profile,
            notes: outcome.map_or(notes, |o| o.failure_reasons),
            seen: Vec::new(),
            facts: ConditionFacts::default(),
        }
    }

    fn say(&mut self, condition: &Condition<'_>) {
        let says = |sign: &StatusMatcher<'_>| condition.is(sign);
        for (notes, sign) in self.notes {
            if says(sign) {
                self.facts.notes |= *notes;
            }
        }
        let Some(profile) = self.profile else {
            return;
        };
        if let Some((first, second)) = profile.exclusive {
            self.facts.exclusive.0 |= says(&is_true(first));
            self.facts.exclusive.1 |= says(&is_true(second));
        }
        let Some(outcome) = &profile.outcome else {
            return;
        };
        for (end, sign) in outcome.terminal_states() {
            if sign.as_ref().is_some_and(says) {
                self.facts.ends |= end;
            }
        }
        self.facts.is_deployed |= outcome.deployed.as_ref().is_some_and(says);
    }

    /// Whether the profile reads conditions of a type.
    fn reads(&self, condition: &str) -> bool {
        let is = |sign: &StatusMatcher<'_>| matches!(sign, StatusMatcher::Condition { condition: c, .. } if *c == condition);
        let outcome = self.profile.and_then(|p| p.outcome.as_ref());
        let exclusive = self.profile.and_then(|p| p.exclusive);
        self.notes.iter().any(|(_, sign)| is(sign))
            || exclusive.is_some_and(|(a, b)| a == condition || b == condition)
            || outcome.is_some_and(|o| {
                let signs = [o.success, o.failure, o.dead_end, o.deployed];
                signs.iter().flatten().any(is)
            })
    }
}

impl<'a> Conditions<'_, 'a> {
    pub(super) fn read(&mut self, list: Raw<'a>) {
        list.for_each(|entry: Raw<'a>| {
            let condition = Condition::read(entry);
            if let Some(name) = &condition.name
                && self.reads(name)
                && !self.seen.contains(name)
            {
                self.say(&condition);
                self.seen.push(name.clone());
            }
        });
    }
}

/// What the conditions of an earlier attempt say of its failure.
pub(super) fn notes_of(
    attempt: Raw<'_>,
    notes: &[(FailureReasons, StatusMatcher<'_>)],
) -> FailureReasons {
    let mut conditions = Conditions::new(notes, None);
    if let Some(list) = attempt.member("conditions") {
        conditions.read(list);
    }
    conditions.facts.notes
}

/// An entry of the list. A value that is no string counts as absent.
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
    fn is(&self, sign: &StatusMatcher<'_>) -> bool {
        let StatusMatcher::Condition {
            condition,
            status,
            reason,
        } = *sign
        else {
            return false;
        };
        self.name.as_deref() == Some(condition)
            && self.status.as_deref() == Some(status)
            && (reason.is_none() || self.reason.as_deref() == reason)
    }
}

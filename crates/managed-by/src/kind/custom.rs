//! What rules read of a custom resource: the objects that will be made of it, and its status.

use std::borrow::Cow;

use super::KindProfile;
use super::parts::{Part, Trail};
use crate::time::Time;

/// Objects that are nested deeper than this are not read.
pub(crate) const MAX_DEPTH: usize = 8;

/// Of more nested values than these, or more negative counters, the first are read.
pub(crate) const MAX_NESTED: usize = 1000;

/// What is read of a custom resource beside the field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Custom<'a> {
    /// The values of `managedBy` in its templates, other than reserved ones, in the order in which they stand.
    pub nested: Vec<Nested<'a>>,
    /// Its status.
    pub status: Status<'a>,
    /// How often it may be tried again, if its kind says so.
    pub retries: usize,
}

/// A value of `managedBy` in a template.
#[derive(Debug, Clone)]
pub struct Nested<'a> {
    /// Where it stands: `spec.replicatedJobs[2].template.spec.managedBy`.
    pub path: String,
    /// The kind that is made of the template.
    pub kind: &'static KindProfile,
    /// The value; [`None`] for a template that was not read, too deep down or after too many others.
    pub value: Option<Cow<'a, str>>,
    /// How many templates it is in.
    pub(crate) depth: usize,
    /// The kind that the template is part of, if that is nested too.
    pub(crate) parent_kind: Option<&'static KindProfile>,
    /// The `managedBy` of what the template is part of, if that is nested too.
    pub(crate) parent: Option<Cow<'a, str>>,
}

impl Nested<'_> {
    /// Whether another one makes the same kind.
    pub(crate) fn is_of_kind(&self, other: &Self) -> bool {
        std::ptr::eq(self.kind, other.kind)
    }

    pub(super) fn unread(kind: &'static KindProfile, path: String) -> Self {
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

impl PartialEq for Nested<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.value == other.value && self.is_of_kind(other)
    }
}

impl Eq for Nested<'_> {}

/// What a status says, in bits, whatever words the kind has for it.
pub(crate) mod fact {
    /// It has succeeded.
    pub(crate) const SUCCEEDED: u16 = 1;
    /// It has failed.
    pub(crate) const FAILED: u16 = 2;
    /// It is in a state that is no outcome, and that the kind's own controller never takes it out of.
    pub(crate) const DEAD_END: u16 = 4;
    /// It failed in a way that the kind's own controller notes beside a success.
    pub(crate) const BESIDE_SUCCESS: u16 = 8;
    /// The first condition of a pair that excludes each other, and the second.
    pub(crate) const FIRST: u16 = 16;
    pub(crate) const SECOND: u16 = 32;
    /// A word beside the conditions says that it has succeeded, or that it has failed.
    pub(crate) const SAYS_SUCCEEDED: u16 = 64;
    pub(crate) const SAYS_FAILED: u16 = 128;
    /// The word says that it was stopped.
    pub(crate) const SAYS_STOPPED: u16 = 256;
    /// It failed in a way that is final where other failures of the kind are not.
    pub(crate) const FOR_GOOD: u16 = 512;
    /// What it made is still there.
    pub(crate) const DEPLOYED: u16 = 4096;
    /// It failed after it had succeeded, and so did the last of its earlier attempts.
    pub(crate) const AFTER_SUCCESS: u16 = 1024;
    pub(crate) const ATTEMPT_AFTER_SUCCESS: u16 = 2048;
}

/// A condition that says something, and the fact that it stands for.
#[derive(Debug)]
pub(crate) struct Sign {
    pub(crate) condition: &'static str,
    pub(crate) status: &'static str,
    /// Empty for any.
    pub(crate) reason: &'static str,
    pub(crate) fact: u16,
}

impl Sign {
    /// The condition, where it is true.
    pub(crate) const fn when(condition: &'static str, fact: u16) -> Self {
        Self::of(condition, "True", "", fact)
    }

    pub(crate) const fn of(
        condition: &'static str,
        status: &'static str,
        reason: &'static str,
        fact: u16,
    ) -> Self {
        Self {
            condition,
            status,
            reason,
            fact,
        }
    }
}

/// A status, by what rules judge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status<'a> {
    pub(crate) facts: u16,
    /// The word for its state, if the kind has one.
    pub(crate) word: Option<Cow<'a, str>>,
    pub(crate) start: Option<Time>,
    pub(crate) end: Option<Time>,
    /// The counters that only go up.
    pub(crate) totals: [i64; 2],
    /// How many earlier attempts are listed.
    pub(crate) attempts: usize,
    /// The counters below zero.
    pub(crate) negative: Vec<(String, i64)>,
}

impl Status<'_> {
    /// Nothing.
    pub(crate) const NONE: Status<'static> = Status {
        facts: 0,
        word: None,
        start: None,
        end: None,
        totals: [0; 2],
        attempts: 0,
        negative: Vec::new(),
    };

    pub(crate) fn has(&self, fact: u16) -> bool {
        self.facts & fact == fact
    }

    pub(super) fn count(&mut self, count: i64, at: &Trail<'_>) {
        if count < 0 && self.negative.len() < MAX_NESTED {
            self.negative.push((at.to_string(), count));
        }
    }
}

/// What the status of a kind promises.
#[derive(Debug)]
pub(crate) struct StatusProfile {
    /// Where its parts stand, from `status`.
    pub(crate) parts: Part,
    /// How it ends, if it does.
    pub(crate) outcome: Option<Outcome>,
    /// When it ends, if it says so.
    pub(crate) end: Option<End>,
    /// The names of the counters that only go up.
    pub(crate) totals: &'static [&'static str],
    /// Two conditions that are not true at once.
    pub(crate) pair: Option<(&'static str, &'static str)>,
    /// The field that repeats the outcome in a word, if there is one.
    pub(crate) says: Option<&'static str>,
}

/// How a kind ends.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Where it stands.
    pub(crate) path: &'static str,
    pub(crate) success: &'static str,
    pub(crate) failure: &'static str,
    /// The state that is no outcome, and that the kind's own controller never takes it out of, if there is one.
    pub(crate) dead_end: Option<&'static str>,
    /// Where else it stands how the workload came to its end: in a word that does not change after, or in a list of
    /// attempts that is not cut.
    pub(crate) detail: Option<&'static str>,
    /// Whether a status can say both.
    pub(crate) both: Both,
    /// Which outcomes, as facts, the kind's own controller takes back in a step like this.
    pub(crate) taken_back: fn(&Step<'_>) -> u16,
}

/// Whether a status can say both that a workload has succeeded and that it has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Both {
    /// It can, and the kind's own controller never does.
    Never,
    /// The kind's own controller may fail what has succeeded.
    AfterSuccess,
    /// The kind's own controller may.
    Allowed,
    /// It cannot: one word or one condition says which.
    Unsayable,
}

/// The change of a status, and what else decides which outcomes are final.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'s> {
    pub(crate) old: &'s Status<'s>,
    pub(crate) new: &'s Status<'s>,
    /// Whether another controller than the kind's own writes it.
    pub(crate) delegated: bool,
    pub(crate) is_being_deleted: bool,
    /// How often the workload may be tried again.
    pub(crate) retries: usize,
}

/// Of a kind whose outcomes are all final.
pub(crate) const fn nothing(_: &Step<'_>) -> u16 {
    0
}

/// When a kind ends.
#[derive(Debug)]
pub(crate) struct End {
    /// Where it stands.
    pub(crate) path: &'static str,
    /// Whether there is none without an outcome.
    pub(crate) only_with_outcome: bool,
    /// The outcomes that have one, as facts.
    pub(crate) of: u16,
}

/// The status of a kind that does not end.
pub(crate) const ENDLESS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[]),
    outcome: None,
    end: None,
    totals: &[],
    pair: None,
    says: None,
};

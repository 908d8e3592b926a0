//! Evaluates stored workloads: the controller that runs each, the last writer of its status, and a verdict on its progress.
//!
//! Everything here is pure: it gets the objects as JSON and the time as a parameter.
//!
//! Every verdict other than [`StatusVerdict::Healthy`] and [`StatusVerdict::Finished`] needs evidence in stored objects that is older than
//! [`Limits::after`]. A long run, a suspended workload and a full queue are no evidence.

mod assess;
mod json;
mod kueue;
mod lease;
mod multikueue;
mod object;
mod time;

use std::collections::BTreeSet;
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use clap::ValueEnum;
use managed_by_offline::replay::ObjectRef;
use serde::Serialize;

pub(crate) use assess::assess;
pub(crate) use kueue::Kueue;
pub(crate) use lease::{LEASES, LeaseProfile, Leases, without_lease};
pub(crate) use object::StoredObject;
pub(crate) use time::duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StatusVerdict {
    /// No controller runs it: no status was ever written, or the name belongs to no controller.
    Orphaned,
    /// A controller took it, but it cannot progress.
    Stalled,
    /// The status violates a rule, or two objects disagree.
    Contradicting,
    /// A client other than its controller wrote the status last.
    ForeignWriter,
    /// An object that the verdict depends on could not be read.
    Unchecked,
    Healthy,
    Finished,
}

/// Formats as in the output: `foreign-writer`.
impl fmt::Display for StatusVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl StatusVerdict {
    /// Returns true if a user or an admin must act.
    pub(crate) fn is_problem(self) -> bool {
        !matches!(self, Self::Unchecked | Self::Healthy | Self::Finished)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusFinding {
    pub(crate) verdict: StatusVerdict,
    /// State in one word, such as `Running`.
    pub(crate) state: &'static str,
    pub(crate) reason: String,
    /// One thing to do; empty if there is nothing to do.
    pub(crate) action: String,
}

impl StatusFinding {
    fn new(verdict: StatusVerdict, state: &'static str, reason: impl Into<String>) -> Self {
        Self {
            verdict,
            state,
            reason: reason.into(),
            action: String::new(),
        }
    }

    #[must_use]
    fn action(self, action: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            ..self
        }
    }
}

/// Last write of a status, according to `managedFields`. A client chooses the name of its manager, so it is a hint and no proof.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct StatusWrite {
    pub(crate) time: DateTime<Utc>,
    pub(crate) manager: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Link {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) state: String,
}

/// Workload with its verdict: one row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectStatus {
    pub(crate) object: ObjectRef,
    #[serde(skip)]
    pub(crate) uid: String,
    /// Controller that runs the workload: a value of `managedBy`. Empty for a kind whose built-in controller has no name.
    pub(crate) controller: String,
    pub(crate) delegated: bool,
    pub(crate) state: &'static str,
    pub(crate) verdict: StatusVerdict,
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_status_write: Option<StatusWrite>,
    /// The objects that the workload depends on, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) chain: Vec<Link>,
}

#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Time of the API server at which the read of the cluster began. What happened later is no evidence: other objects may have been
    /// read before.
    pub(crate) now: DateTime<Utc>,
    pub(crate) after: TimeDelta,
    pub(crate) dispatch: TimeDelta,
    /// Controllers, each with a field manager that may write the status of its workloads.
    pub(crate) writers: Vec<(String, String)>,
}

impl Limits {
    /// Returns the age, if the time is long enough ago to be evidence.
    pub(crate) fn age_of_evidence(&self, time: Option<DateTime<Utc>>) -> Option<TimeDelta> {
        let age = self.now.signed_duration_since(time?);
        (age > self.after).then_some(age)
    }

    fn writers(&self, controller: &str) -> Vec<&str> {
        let writers = self.writers.iter();
        let writers = writers.filter(|(name, _)| name == controller);
        writers.map(|(_, manager)| &**manager).collect()
    }
}

#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    /// [`None`] if the cluster does not serve Kueue's API.
    pub(crate) kueue: Option<Kueue>,
    pub(crate) leases: Leases,
    /// Controllers that have written to a workload not longer than [`Limits::after`] ago.
    pub(crate) busy: BTreeSet<String>,
}
#[cfg(test)]
mod tests;

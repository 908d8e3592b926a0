//! Checker of typed Jobs, for the tests of a controller that writes their status.
//!
//! It converts each Job to the same view as its JSON, so that verdicts are the same.

mod view;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;

use k8s_openapi::api::batch::v1::Job;

use crate::description::Enforcement;
use crate::evaluation::Finding;
use crate::kind::Kind;
use crate::object::Object;
use crate::release::ReleaseSet;
use crate::request::{AdmissionRequest, Change, UserInfo};
use crate::review::evaluate;
use crate::settings::Settings;
use view::{RawFields, object};

/// Checker for changes to typed Jobs, for use in the tests of a controller.
///
/// It takes [`Job`]s of `k8s-openapi` and returns [`Finding`]s: the rule, field, error and releases. It needs no admission
/// review and no cluster. It evaluates kube-apiserver's rules in each of its releases, likely typos of `managedBy`, and, with
/// [settings](JobChecker::with_settings), cluster-specific rules.
///
/// ```
/// use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
/// use managed_by::JobChecker;
///
/// let job = |status| Job {
///     spec: Some(JobSpec { managed_by: Some("acme.io/runner".to_owned()), ..JobSpec::default() }),
///     status: Some(status),
///     ..Job::default()
/// };
/// let condition = |type_: &str| JobCondition {
///     type_: type_.to_owned(),
///     status: "True".to_owned(),
///     ..JobCondition::default()
/// };
/// let old = job(JobStatus::default());
/// // A start time is missing, and since 1.31 `FailureTarget` comes before `Failed`.
/// let new = job(JobStatus { conditions: Some(vec![condition("Failed")]), ..JobStatus::default() });
///
/// let findings = JobChecker::default().status_update(&old, &new);
/// let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
/// assert_eq!(lines, [
///     "1.32 to 1.37: status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true \
///      condition [job-status/failed-without-failure-target]",
///     "1.32 to 1.37: status.startTime: Required value: startTime is required for finished job \
///      [job-status/finished-without-start-time]",
/// ]);
/// ```
///
/// In a test suite, assert that there are no findings: `assert_eq!(checker.status_update(&old, &new), [])`. To allow warnings,
/// `assert_eq!(findings.denials(), [])`.
///
/// Choose the API version of the types with a feature of `k8s-openapi` in your own `Cargo.toml` (`k8s-openapi = { version = "0.29",
/// features = ["v1_36"] }`). This crate chooses none, and works with each.
///
/// A checker has no state and can be shared. It borrows from the JSON of its settings.
#[derive(Debug, Clone)]
pub struct JobChecker<'s> {
    settings: Settings<'s>,
    releases: ReleaseSet,
    username: String,
    groups: Vec<String>,
}

/// Checks the releases in which `managedBy` is on by default.
impl Default for JobChecker<'_> {
    fn default() -> Self {
        Self::new(ReleaseSet::with_managed_by_on_by_default())
    }
}

impl<'s> JobChecker<'s> {
    /// Creates a checker for a release ([`Release::V1_36`](crate::Release::V1_36)) or a [`ReleaseSet`].
    pub fn new(releases: impl Into<ReleaseSet>) -> Self {
        Self {
            settings: Settings::default().for_tools(),
            releases: releases.into(),
            username: String::new(),
            groups: Vec::new(),
        }
    }

    /// Uses the policy's settings, so that cluster-specific rules are evaluated too. Ignores their `kubernetes_version`: the checker
    /// has its own releases.
    ///
    /// ```
    /// use managed_by::{JobChecker, Settings};
    ///
    /// let settings = Settings::from_json(br#"{"controllers": {"acme.io/runner": {"status_writers": ["runners"]}}}"#)?;
    /// let checker = JobChecker::default().with_settings(settings).with_user("ana", &["people"]);
    /// # Ok::<(), managed_by::SettingsErrors>(())
    /// ```
    #[must_use]
    pub fn with_settings(self, settings: Settings<'s>) -> Self {
        Self {
            settings: settings.for_tools(),
            ..self
        }
    }

    /// Sets the user who makes the changes. Only cluster-specific rules read it.
    #[must_use]
    pub fn with_user(self, username: impl Into<String>, groups: &[&str]) -> Self {
        Self {
            username: username.into(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..self
        }
    }

    /// Evaluates the creation of a Job.
    ///
    /// kube-apiserver drops the status of a create. Use [`JobChecker::stored`] to evaluate it.
    pub fn create(&self, job: &Job) -> JobFindings {
        let raw_fields = RawFields::new(job);
        let object = object(job, &raw_fields);
        self.evaluate(Change::Create { object }, job, None)
    }

    /// Evaluates a stored Job with its status, like an audit.
    pub fn stored(&self, job: &Job) -> JobFindings {
        let raw_fields = RawFields::new(job);
        let object = object(job, &raw_fields);
        self.evaluate(Change::Stored { object }, job, None)
    }

    /// Evaluates an update of the main resource. kube-apiserver keeps the old status.
    pub fn update(&self, old: &Job, new: &Job) -> JobFindings {
        let (old_fields, new_fields) = (RawFields::new(old), RawFields::new(new));
        let change = Change::Update {
            object: object(new, &new_fields),
            old: object(old, &old_fields),
        };
        self.evaluate(change, new, Some(old))
    }

    /// Evaluates an update of the subresource `status`. kube-apiserver keeps the old spec.
    pub fn status_update(&self, old: &Job, new: &Job) -> JobFindings {
        let (old_fields, new_fields) = (RawFields::new(old), RawFields::new(new));
        let change = Change::UpdateStatus {
            object: object(new, &new_fields),
            old: object(old, &old_fields),
        };
        self.evaluate(change, new, Some(old))
    }

    fn evaluate(&self, change: Change<Object<'_>>, new: &Job, old: Option<&Job>) -> JobFindings {
        let Some(kind) = Kind::find("batch", "v1", "Job") else {
            return JobFindings::default();
        };
        let user = UserInfo {
            username: self.username.as_str().into(),
            groups: self.groups.iter().map(Into::into).collect(),
        };
        let request = AdmissionRequest::from_typed(kind, change, user, new, old);
        let evaluation = evaluate(&request, &self.settings, Some(self.releases));
        JobFindings(evaluation.findings)
    }
}

/// Findings of a [`JobChecker`], in the order of the rules.
///
/// Dereferences to a slice of [`Finding`]s, and compares with arrays: `assert_eq!(findings, [])`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JobFindings(Vec<Finding>);

impl JobFindings {
    /// Returns the denials. Excludes warnings, such as likely typos and checks that only early patch releases make.
    pub fn denials(&self) -> Vec<&Finding> {
        let is_denial = |found: &&Finding| found.enforcement == Enforcement::Deny;
        self.iter().filter(is_denial).collect()
    }

    /// Returns the releases that deny.
    pub fn denied_by(&self) -> ReleaseSet {
        let sets = self
            .denials()
            .into_iter()
            .filter_map(|found| found.releases);
        sets.fold(ReleaseSet::default(), ReleaseSet::union)
    }
}

impl Deref for JobFindings {
    type Target = [Finding];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for JobFindings {
    type Item = Finding;
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'f> IntoIterator for &'f JobFindings {
    type Item = &'f Finding;
    type IntoIter = std::slice::Iter<'f, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<const N: usize> PartialEq<[Finding; N]> for JobFindings {
    fn eq(&self, other: &[Finding; N]) -> bool {
        self.0 == other
    }
}

/// Formats as a list, for failed assertions.
impl fmt::Debug for JobFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

//! Typed Jobs, judged where a controller is tested: what would kube-apiserver say to this status?
//!
//! A Job is seen through the view that its JSON would be read into, so that the verdicts are the same.

mod view;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;

use k8s_openapi::api::batch::v1::Job;

use crate::description::Enforcement;
use crate::judgement::JudgedFinding;
use crate::kind::Kind;
use crate::object::Object;
use crate::release::ReleaseSet;
use crate::request::{AdmissionRequest, Change, UserInfo};
use crate::review::judge;
use crate::settings::Settings;
use view::{Parts, object};

/// Says what kube-apiserver would find wrong with changes of typed Jobs, where a controller is tested.
///
/// It takes [`Job`]s of `k8s-openapi` and gives [`JudgedFinding`]s: the rule, the field, what is wrong, and which releases say so.
/// No admission review is written for it, and nothing is asked of a cluster. It judges kube-apiserver's own rules for each
/// release that it was made for, likely typos of `managedBy`, and with [settings](JobChecker::with_settings) the rules of a site.
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
/// let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
/// assert_eq!(told, [
///     "1.31 to 1.37: status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true \
///      condition [job-status/failed-without-failure-target]",
///     "1.30 to 1.37: status.startTime: Required value: startTime is required for finished job \
///      [job-status/finished-without-start-time]",
/// ]);
/// ```
///
/// In a test suite, assert that there is nothing: `assert_eq!(checker.status_update(&old, &new), [])`. If warnings are fine,
/// `assert_eq!(findings.denials(), [])`.
///
/// The API version of the types is yours to choose, with a feature of `k8s-openapi` in your own `Cargo.toml`
/// (`k8s-openapi = { version = "0.29", features = ["v1_36"] }`): this crate chooses none, and works with each.
///
/// A checker can be made once and shared: it keeps nothing of the Jobs that it has checked. Its lifetime is that of the JSON
/// that its settings were read from.
#[derive(Debug, Clone)]
pub struct JobChecker<'s> {
    settings: Settings<'s>,
    releases: ReleaseSet,
    username: String,
    groups: Vec<String>,
}

impl Default for JobChecker<'_> {
    /// Asks every release that the library knows.
    fn default() -> Self {
        Self::new(ReleaseSet::all())
    }
}

impl<'s> JobChecker<'s> {
    /// Asks these releases: one ([`Release::V1_36`](crate::Release::V1_36)), all ([`ReleaseSet::all`]), or those that you collect into a
    /// [`ReleaseSet`].
    pub fn new(releases: impl Into<ReleaseSet>) -> Self {
        Self {
            settings: Settings::default().for_tools(),
            releases: releases.into(),
            username: String::new(),
            groups: Vec::new(),
        }
    }

    /// Uses the policy's settings, so that a site's own rules are checked too. Their `kubernetes_version` is ignored: the releases
    /// are those that the checker was created with.
    ///
    /// ```
    /// use managed_by::{JobChecker, Settings};
    ///
    /// let settings = Settings::from_json(br#"{"controllers": {"acme.io/runner": {"status_writers": ["runners"]}}}"#)?;
    /// let checker = JobChecker::default().with_settings(settings).as_user("ana", &["people"]);
    /// # Ok::<(), managed_by::Problems>(())
    /// ```
    #[must_use]
    pub fn with_settings(self, settings: Settings<'s>) -> Self {
        Self {
            settings: settings.for_tools(),
            ..self
        }
    }

    /// The same checker for changes that a user makes. Only rules that the settings switch on ask who writes.
    #[must_use]
    pub fn as_user(self, username: impl Into<String>, groups: &[&str]) -> Self {
        Self {
            username: username.into(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..self
        }
    }

    /// What is wrong with a Job that is created.
    ///
    /// A status in it counts for nothing: kube-apiserver drops the status of a create. [`JobChecker::stored`] judges it.
    pub fn create(&self, job: &Job) -> JobFindings {
        let parts = Parts::of_metadata(job);
        let object = object(job, &parts);
        self.judge(Change::Create { object }, job, None)
    }

    /// What is wrong with a Job as it is stored, with its status. Nobody asks for it: what is found is denied to nobody.
    pub fn stored(&self, job: &Job) -> JobFindings {
        let parts = Parts::of_metadata(job);
        let object = object(job, &parts);
        self.judge(Change::Stored { object }, job, None)
    }

    /// What is wrong with an update of the main resource, which changes the spec. The status that counts is the old one.
    pub fn update(&self, old: &Job, new: &Job) -> JobFindings {
        let (mut old_parts, mut new_parts) = (Parts::of_metadata(old), Parts::of_metadata(new));
        let is_suspended = old.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
        if is_suspended {
            old_parts = old_parts.with_template(old);
            new_parts = new_parts.with_template(new);
        }
        let change = Change::Update {
            object: object(new, &new_parts),
            old: object(old, &old_parts),
        };
        self.judge(change, new, Some(old))
    }

    /// What is wrong with an update of the subresource `status`. The spec that counts is the old one.
    pub fn status_update(&self, old: &Job, new: &Job) -> JobFindings {
        let (old_parts, new_parts) = (Parts::of_metadata(old), Parts::of_metadata(new));
        let change = Change::UpdateStatus {
            object: object(new, &new_parts),
            old: object(old, &old_parts),
        };
        self.judge(change, new, Some(old))
    }

    fn judge(&self, change: Change<Object<'_>>, new: &Job, old: Option<&Job>) -> JobFindings {
        let Some(kind) = Kind::find("batch", "v1", "Job") else {
            return JobFindings::default();
        };
        let user = UserInfo {
            username: self.username.as_str().into(),
            groups: self.groups.iter().map(Into::into).collect(),
        };
        let request = AdmissionRequest::of_typed(kind, change, user, new, old);
        let judgement = judge(&request, &self.settings, Some(self.releases));
        let findings = judgement.findings().iter();
        JobFindings(findings.map(|found| found.clone().into_owned()).collect())
    }
}

/// What a [`JobChecker`] found, in the order of the rules.
///
/// It is a slice of [`JudgedFinding`]s, and equals an array of them: `assert_eq!(findings, [])`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JobFindings(Vec<JudgedFinding<'static>>);

impl JobFindings {
    /// What a release denies: without the likely typos and the early patches of a release, which only warn.
    pub fn denials(&self) -> Vec<&JudgedFinding<'static>> {
        let is_denial = |found: &&JudgedFinding<'_>| found.enforcement() == Enforcement::Deny;
        self.iter().filter(is_denial).collect()
    }

    /// The releases that deny.
    pub fn denied_by(&self) -> ReleaseSet {
        let sets = self.denials().into_iter().map(JudgedFinding::releases);
        sets.fold(ReleaseSet::default(), ReleaseSet::union)
    }
}

impl Deref for JobFindings {
    type Target = [JudgedFinding<'static>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for JobFindings {
    type Item = JudgedFinding<'static>;
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'f> IntoIterator for &'f JobFindings {
    type Item = &'f JudgedFinding<'static>;
    type IntoIter = std::slice::Iter<'f, JudgedFinding<'static>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<const N: usize> PartialEq<[JudgedFinding<'static>; N]> for JobFindings {
    fn eq(&self, other: &[JudgedFinding<'static>; N]) -> bool {
        self.0 == other
    }
}

/// A list, as an assertion that fails prints it.
impl fmt::Debug for JobFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

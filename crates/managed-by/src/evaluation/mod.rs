//! Merged results of evaluating one request under several Kubernetes releases, for the CLI, the npm package and the Go package.

mod result;

use std::fmt;

use crate::catalog;
use crate::description::{Enforcement, Rule};
use crate::finding::{ErrorType, FieldError, Finding};
use crate::release::{Release, ReleaseSet};
use crate::request::AdmissionRequest;
use crate::unchecked::Unchecked;
use crate::verdict::{Decision, Verdict, merge_verdicts};

pub use result::{EvaluationResult, ReleaseDecisions, ReleaseResult, ReportedFinding};

/// Result of evaluating a request under several releases: the merged verdict, the findings, and the verdict of each release.
/// [`evaluate`](crate::evaluate) returns it. [`EvaluationResult`] is its owned form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation<'a> {
    verdict: Verdict<'a>,
    findings: Vec<MergedFinding<'a>>,
    release_verdicts: Vec<ReleaseVerdict<'a>>,
    unchecked: Vec<Unchecked>,
}

/// Verdict that several releases share.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleaseVerdict<'a> {
    /// Releases with this verdict; never empty.
    pub releases: ReleaseSet,
    /// Verdict of the policy with `kubernetes_version` set to any of the releases.
    pub verdict: Verdict<'a>,
}

/// Finding in one or more releases.
///
/// Findings of two releases are merged if they have the same rule, enforcement, path and ordinal: the number of earlier findings of
/// the rule at that path.
#[derive(Clone, PartialEq, Eq)]
pub struct MergedFinding<'a> {
    enforcement: Enforcement,
    ordinal: usize,
    /// Newest of the releases, with its finding.
    newest: (Release, Finding<'a>),
    /// Findings of the releases, oldest first. Releases with equal findings share an entry.
    by_release: Vec<(ReleaseSet, Finding<'a>)>,
}

/// Error message that several releases share.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ReleaseMessage {
    /// Releases with this message; never empty.
    pub releases: ReleaseSet,
    /// Error type.
    #[serde(rename = "type")]
    pub error_type: ErrorType,
    /// Complete error message: path, type, value, detail.
    pub message: String,
    /// Detail of the error.
    pub detail: String,
}

impl<'a> Evaluation<'a> {
    /// Creates the result for the release that the settings select.
    pub(crate) fn from_verdict(verdict: Verdict<'a>, release: Release) -> Self {
        Self {
            findings: merge_findings(&[(release.into(), &verdict.findings)]),
            verdict,
            release_verdicts: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    /// Creates a result for a request whose verdict does not depend on the release. If `releases` is [`None`], the settings select
    /// the release.
    pub fn uniform(verdict: Verdict<'a>, releases: Option<ReleaseSet>) -> Self {
        Self {
            findings: merge_findings(&[(releases.unwrap_or_default(), &verdict.findings)]),
            release_verdicts: releases
                .map(|releases| ReleaseVerdict {
                    releases,
                    verdict: verdict.clone(),
                })
                .into_iter()
                .collect(),
            verdict,
            unchecked: Vec::new(),
        }
    }

    /// Merges per-release verdicts, oldest release first. Releases with equal verdicts share a [`ReleaseVerdict`].
    pub(crate) fn from_release_verdicts(
        request: &AdmissionRequest<'_>,
        verdicts: Vec<(Release, Verdict<'a>)>,
    ) -> Self {
        let mut release_verdicts: Vec<ReleaseVerdict<'a>> = Vec::new();
        for (release, verdict) in verdicts {
            let releases = release.into();
            match release_verdicts
                .iter_mut()
                .find(|known| known.verdict == verdict)
            {
                Some(known) => known.releases = known.releases.union(releases),
                None => release_verdicts.push(ReleaseVerdict { releases, verdict }),
            }
        }
        let by_release = release_verdicts.iter();
        let by_release: Vec<_> = by_release
            .map(|v| (v.releases, &*v.verdict.findings))
            .collect();
        let findings = merge_findings(&by_release);
        let verdict = match &*release_verdicts {
            [only] => only.verdict.clone(),
            release_verdicts => {
                let verdicts: Vec<&Verdict<'a>> =
                    release_verdicts.iter().map(|v| &v.verdict).collect();
                let findings = findings.iter();
                let findings = findings.flat_map(MergedFinding::representative_findings);
                merge_verdicts(request, &verdicts, findings.collect())
            }
        };
        Self {
            verdict,
            findings,
            release_verdicts,
            unchecked: Vec::new(),
        }
    }

    /// Sets the parts of the request that were not evaluated.
    pub(crate) fn with_unchecked(self, unchecked: Vec<Unchecked>) -> Self {
        Self { unchecked, ..self }
    }

    pub(crate) fn into_owned(self) -> Evaluation<'static> {
        let release_verdicts =
            self.release_verdicts
                .into_iter()
                .map(|release_verdict| ReleaseVerdict {
                    releases: release_verdict.releases,
                    verdict: release_verdict.verdict.into_owned(),
                });
        let findings = self.findings.into_iter().map(MergedFinding::into_owned);
        Evaluation {
            verdict: self.verdict.into_owned(),
            findings: findings.collect(),
            release_verdicts: release_verdicts.collect(),
            unchecked: self.unchecked,
        }
    }

    /// Returns the merged verdict: a denial if any release denies, with the findings of all releases in its message.
    pub fn verdict(&self) -> &Verdict<'a> {
        &self.verdict
    }

    /// Returns the findings in the order of the rules.
    pub fn findings(&self) -> &[MergedFinding<'a>] {
        &self.findings
    }

    /// Returns the verdicts of the evaluated releases, oldest first. Releases with equal verdicts share an entry. Empty if the
    /// caller passed no releases.
    pub fn release_verdicts(&self) -> &[ReleaseVerdict<'a>] {
        &self.release_verdicts
    }

    /// Returns the parts of the request that were not evaluated.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// Returns the result of one of the evaluated releases, as if the settings chose it.
    pub fn for_release(&self, release: Release) -> Option<Self> {
        let release_verdict = self
            .release_verdicts
            .iter()
            .find(|v| v.releases.contains(release));
        release_verdict.map(|release_verdict| {
            Self::from_verdict(release_verdict.verdict.clone(), release)
                .with_unchecked(self.unchecked.clone())
        })
    }

    /// Returns the evaluated releases that deny the request.
    pub fn denied_by(&self) -> ReleaseSet {
        self.releases_where(|decision| !decision.is_allowed())
    }

    /// Returns the evaluated releases that allow the request.
    pub fn allowed_by(&self) -> ReleaseSet {
        self.releases_where(Decision::is_allowed)
    }

    fn releases_where(&self, matches: impl Fn(&Decision) -> bool) -> ReleaseSet {
        let release_verdicts = self.release_verdicts.iter();
        let matching =
            release_verdicts.filter(|release_verdict| matches(&release_verdict.verdict.decision));
        matching.fold(ReleaseSet::default(), |set, v| set.union(v.releases))
    }
}

impl<'a> MergedFinding<'a> {
    /// Returns the rule.
    pub fn rule(&self) -> &'static Rule {
        self.newest.1.rule()
    }

    /// Returns the enforcement.
    pub fn enforcement(&self) -> Enforcement {
        self.enforcement
    }

    /// Returns the path of the field, such as `status.startTime`.
    pub fn path(&self) -> &str {
        self.error().path()
    }

    /// Returns the detail of the error.
    pub fn detail(&self) -> &str {
        self.error().detail()
    }

    /// Returns the number of earlier findings of the rule at this path.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Returns the evaluated releases with this finding. If the caller passed no releases, returns [`Finding::releases`], or else
    /// the release of the error message.
    pub fn releases(&self) -> ReleaseSet {
        let sets = self.by_release.iter().map(|(releases, _)| *releases);
        sets.fold(ReleaseSet::default(), ReleaseSet::union)
    }

    /// Returns the finding in the newest release of [`MergedFinding::releases`].
    pub fn finding(&self) -> &Finding<'a> {
        &self.newest.1
    }

    /// Returns the error in the newest release of [`MergedFinding::releases`].
    pub fn error(&self) -> &FieldError<'a> {
        self.newest.1.error()
    }

    /// Returns the error message of the newest release of [`MergedFinding::releases`].
    pub fn message(&self) -> String {
        self.error().message(self.newest.0)
    }

    /// Returns the error message of each release of [`MergedFinding::releases`], oldest first. Releases with the same message share an
    /// entry.
    pub fn messages(&self) -> Vec<ReleaseMessage> {
        let mut messages: Vec<ReleaseMessage> = Vec::new();
        for (releases, finding) in &self.by_release {
            let error = finding.error();
            for release in releases.iter() {
                let message = error.message(release);
                match messages.iter_mut().find(|known| known.message == message) {
                    Some(known) => known.releases = known.releases.union(release.into()),
                    None => messages.push(ReleaseMessage {
                        releases: release.into(),
                        error_type: error.error_type(),
                        message,
                        detail: error.detail().to_owned(),
                    }),
                }
            }
        }
        messages
    }

    /// Returns the findings for a message about all releases: one per error type, each from the newest release with that type.
    fn representative_findings(&self) -> Vec<(Enforcement, Finding<'a>, Release)> {
        let (newest, finding) = &self.newest;
        let mut representatives = vec![(self.enforcement, finding.clone(), *newest)];
        for (releases, finding) in self.by_release.iter().rev() {
            let error_type = finding.error().error_type();
            let is_covered = representatives
                .iter()
                .any(|(_, known, _)| known.error().error_type() == error_type);
            if let (false, Some(release)) = (is_covered, releases.newest()) {
                representatives.push((self.enforcement, finding.clone(), release));
            }
        }
        representatives
    }

    pub(crate) fn into_owned(self) -> MergedFinding<'static> {
        let by_release = self.by_release.into_iter();
        MergedFinding {
            enforcement: self.enforcement,
            ordinal: self.ordinal,
            newest: (self.newest.0, self.newest.1.into_owned()),
            by_release: by_release.map(|(set, f)| (set, f.into_owned())).collect(),
        }
    }

    /// Adds releases with this finding.
    fn add(&mut self, releases: ReleaseSet, finding: &Finding<'a>) {
        match self.by_release.iter_mut().find(|(_, f)| f == finding) {
            Some((set, _)) => *set = set.union(releases),
            None => self.by_release.push((releases, finding.clone())),
        }
        let newest = releases.newest().unwrap_or_default();
        if newest > self.newest.0 {
            self.newest = (newest, finding.clone());
        }
    }
}

/// Formats one line per error message: releases, message, rule.
impl fmt::Display for MergedFinding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = match self.enforcement {
            Enforcement::Warn => "warning: ",
            _ => "",
        };
        let id = self.rule().id();
        for (index, message) in self.messages().iter().enumerate() {
            let ReleaseMessage {
                releases, message, ..
            } = message;
            let line_break = if index > 0 { "\n" } else { "" };
            write!(f, "{line_break}{releases}: {warning}{message} [{id}]")?;
        }
        Ok(())
    }
}

/// Formats like [`Display`](fmt::Display), for failed assertions.
impl fmt::Debug for MergedFinding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MergedFinding({self})")
    }
}

/// Returns true if two findings have the same rule and path.
fn has_same_rule_and_path(one: &Finding<'_>, other: &Finding<'_>) -> bool {
    one.rule() == other.rule() && one.error().path() == other.error().path()
}

/// Merges the findings of releases, in the order of the rules. Each list applies to the release set that it is paired with, except
/// for findings that have their own releases.
pub(crate) fn merge_findings<'a>(
    by_release: &[(ReleaseSet, &[(Enforcement, Finding<'a>)])],
) -> Vec<MergedFinding<'a>> {
    let mut all: Vec<MergedFinding<'a>> = Vec::new();
    for (set, findings) in by_release {
        for (index, (enforcement, finding)) in findings.iter().enumerate() {
            let earlier = findings.iter().take(index);
            let ordinal = earlier
                .filter(|(_, f)| has_same_rule_and_path(f, finding))
                .count();
            let releases = finding.releases().unwrap_or(*set);
            let is_same = |known: &&mut MergedFinding<'_>| {
                (known.enforcement, known.ordinal) == (*enforcement, ordinal)
                    && has_same_rule_and_path(known.finding(), finding)
            };
            if let Some(known) = all.iter_mut().find(is_same) {
                known.add(releases, finding);
                continue;
            }
            let order = catalog::position(finding.rule());
            let index = all.partition_point(|known| catalog::position(known.rule()) <= order);
            let found = MergedFinding {
                enforcement: *enforcement,
                ordinal,
                newest: (releases.newest().unwrap_or_default(), finding.clone()),
                by_release: vec![(releases, finding.clone())],
            };
            all.insert(index, found);
        }
    }
    all
}

//! Results of evaluating one request, for one release or merged for several. All front ends return them, and their JSON is the same
//! everywhere: `docs/evaluation.schema.json`.

mod json;
mod merge;

use std::fmt;

use crate::decode::DecodeError;
use crate::description::{Enforcement, Rule};
use crate::finding::ErrorType;
use crate::release::{Release, ReleaseSet};
use crate::request::AdmissionRequest;
use crate::rule::managed_by;
use crate::unchecked::Unchecked;
use crate::verdict::{RuleResults, Verdict, merge_verdicts};

pub(crate) use merge::{MergedFinding, merge_findings};

/// Result of evaluating a request under one or several releases. [`evaluate`](crate::evaluate) returns it.
///
/// In JSON, the members of the verdict are its own.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// The verdict. With several releases, the request is denied if any release denies it, and the message lists the errors of all
    /// releases.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Findings, in the order of the rules.
    pub findings: Vec<Finding>,
    /// Parts of the request that were not evaluated.
    pub unchecked: Vec<Unchecked>,
    /// Verdicts of the evaluated releases, oldest first. Releases with equal verdicts and findings share an entry. Empty if the caller
    /// passed no releases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub release_verdicts: Vec<ReleaseVerdict>,
}

/// Verdict that several releases share.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReleaseVerdict {
    /// Releases with this verdict; never empty.
    pub releases: ReleaseSet,
    /// Verdict of the policy with `kubernetes_version` set to any of the releases.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Finding of one rule on one field.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The rule; in JSON its id, as accepted by `explain`.
    #[serde(serialize_with = "json::serialize_rule_id")]
    pub rule: &'static Rule,
    /// The enforcement of the rule: deny or warn.
    #[serde(serialize_with = "json::serialize_enforcement")]
    pub enforcement: Enforcement,
    /// Path of the field from the object's root: `status.conditions[0].type`. For a missing field, the path it would have.
    pub path: String,
    /// The error type; in JSON the name that kube-apiserver uses: `Invalid value`, `Required value`, `Forbidden`, ...
    #[serde(rename = "type")]
    pub error_type: ErrorType,
    /// The whole error in kube-apiserver's format: path, type, value, detail.
    pub message: String,
    /// The reason and the accepted values; may be empty.
    pub detail: String,
    /// The suggested value for the path; `detail` contains it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// True if kube-apiserver reports the same error.
    #[serde(rename = "upstream")]
    pub is_upstream: bool,
    /// Releases with the finding: set if each release is evaluated, or if no version is set and the releases differ.
    #[serde(flatten, serialize_with = "json::serialize_range")]
    pub releases: Option<ReleaseSet>,
    /// The error of each release, oldest first, if the messages differ; the finding itself has the message of the newest release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<ReleaseMessage>,
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

/// Releases that allow and releases that deny a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ReleaseDecisions {
    /// Releases that allow the request.
    pub allowed: ReleaseSet,
    /// Releases that deny the request.
    pub denied: ReleaseSet,
}

impl Evaluation {
    /// Creates the result for a request whose verdict does not depend on the release. If `releases` is [`None`], the settings select the
    /// release.
    pub fn uniform(verdict: Verdict, releases: Option<ReleaseSet>) -> Self {
        let release_verdict = releases.map(|releases| ReleaseVerdict {
            releases,
            verdict: verdict.clone(),
        });
        Self {
            verdict,
            findings: Vec::new(),
            unchecked: Vec::new(),
            release_verdicts: release_verdict.into_iter().collect(),
        }
    }

    /// Creates the result for a malformed request.
    pub fn malformed(malformed: &DecodeError) -> Self {
        Self::uniform(Verdict::malformed(malformed), None)
    }

    /// Creates the result from the findings of one release, or of releases with the same findings.
    pub(crate) fn from_results(
        results: RuleResults<'_>,
        message_release: Release,
        releases: Option<ReleaseSet>,
    ) -> Self {
        let evaluated = releases.unwrap_or_else(|| message_release.into());
        let findings = merge_findings(&[(evaluated, &results.findings)]);
        let findings = findings.iter();
        Self {
            findings: findings
                .map(|merged| Finding::new(merged, releases.is_some()))
                .collect(),
            ..Self::uniform(results.verdict, releases)
        }
    }

    /// Merges per-release results, oldest release first.
    pub(crate) fn from_release_results(
        request: &AdmissionRequest<'_>,
        results: Vec<(Release, RuleResults<'_>)>,
    ) -> Self {
        let mut groups: Vec<(ReleaseSet, RuleResults<'_>)> = Vec::new();
        for (release, results) in results {
            match groups.iter_mut().find(|(_, known)| *known == results) {
                Some((releases, _)) => *releases = releases.union(release.into()),
                None => groups.push((release.into(), results)),
            }
        }
        let by_release = groups
            .iter()
            .map(|(set, results)| (*set, &*results.findings));
        let merged = merge_findings(&by_release.collect::<Vec<_>>());
        let verdict = if let [(_, only)] = &*groups {
            only.verdict.clone()
        } else {
            let verdicts: Vec<_> = groups.iter().map(|(_, group)| &group.verdict).collect();
            let findings = merged.iter().flat_map(MergedFinding::representatives);
            merge_verdicts(request, &verdicts, &findings.collect::<Vec<_>>())
        };
        let findings = merged
            .iter()
            .map(|merged| Finding::new(merged, true))
            .collect();
        let groups = groups.into_iter();
        let release_verdicts = groups.map(|(releases, results)| ReleaseVerdict {
            releases,
            verdict: results.verdict,
        });
        Self {
            verdict,
            findings,
            unchecked: Vec::new(),
            release_verdicts: release_verdicts.collect(),
        }
    }

    /// Returns the releases that allow and deny the request, or [`None`] if the caller passed no releases.
    pub fn releases(&self) -> Option<ReleaseDecisions> {
        (!self.release_verdicts.is_empty()).then(|| ReleaseDecisions {
            allowed: self.allowed_by(),
            denied: self.denied_by(),
        })
    }

    /// Returns the evaluated releases that deny the request.
    pub fn denied_by(&self) -> ReleaseSet {
        self.releases_where(|verdict| !verdict.decision.is_allowed())
    }

    /// Returns the evaluated releases that allow the request.
    pub fn allowed_by(&self) -> ReleaseSet {
        self.releases_where(|verdict| verdict.decision.is_allowed())
    }

    fn releases_where(&self, matches: impl Fn(&Verdict) -> bool) -> ReleaseSet {
        let verdicts = self.release_verdicts.iter();
        let matching = verdicts.filter(|shared| matches(&shared.verdict));
        matching.fold(ReleaseSet::default(), |set, v| set.union(v.releases))
    }

    /// Returns true if there is nothing to report: everything was evaluated, without findings.
    pub fn is_empty(&self) -> bool {
        self.verdict.decision.is_allowed()
            && self.verdict.warnings.is_empty()
            && self.findings.is_empty()
            && self.unchecked.is_empty()
    }
}

impl Finding {
    /// Returns the message of each release with the finding, oldest first. Empty if neither the caller nor the finding chooses releases.
    pub fn texts(&self) -> Vec<(ReleaseSet, &str)> {
        if self.messages.is_empty() {
            let only = self.releases.map(|releases| (releases, &*self.message));
            return only.into_iter().collect();
        }
        let messages = self.messages.iter();
        messages.map(|m| (m.releases, &*m.message)).collect()
    }

    /// Returns true if the finding is about the name of a field, and not about its value. Then the suggestion replaces the name.
    pub fn is_about_key(&self) -> bool {
        *self.rule == managed_by::UNKNOWN_FIELD.rule
    }
}

/// Formats one line per error message: releases if there are any, message, rule.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = match self.enforcement {
            Enforcement::Warn => "warning: ",
            _ => "",
        };
        let id = self.rule.id();
        let texts = self.texts();
        for (index, (releases, message)) in texts.iter().enumerate() {
            let line_break = if index > 0 { "\n" } else { "" };
            write!(f, "{line_break}{releases}: {warning}{message} [{id}]")?;
        }
        if texts.is_empty() {
            write!(f, "{warning}{} [{id}]", self.message)?;
        }
        Ok(())
    }
}

/// Formats like [`Display`](fmt::Display), for failed assertions.
impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Finding({self})")
    }
}

impl ReleaseDecisions {
    /// Returns the evaluated releases.
    pub const fn evaluated(self) -> ReleaseSet {
        self.allowed.union(self.denied)
    }
}

/// Formats as `allowed by 1.30 to 1.31, denied by 1.32 to 1.37`.
impl fmt::Display for ReleaseDecisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { allowed, denied } = self;
        match (allowed.is_empty(), denied.is_empty()) {
            (_, true) => write!(f, "allowed by {allowed}"),
            (true, false) => write!(f, "denied by {denied}"),
            (false, false) => write!(f, "allowed by {allowed}, denied by {denied}"),
        }
    }
}

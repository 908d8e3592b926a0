//! Owned result of an evaluation, which the command line, the npm package, the Go package and reports share. Its JSON schema is
//! `docs/evaluation.schema.json`.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Evaluation, MergedFinding, ReleaseMessage};
use crate::decode::DecodeError;
use crate::description::{Enforcement, Rule};
use crate::finding::ErrorType;
use crate::release::{Release, ReleaseSet};
use crate::rule::manifest;
use crate::unchecked::Unchecked;
use crate::verdict::{Decision, Verdict};

/// Owned result of evaluating one request.
///
/// Serializes `allowed`, `code`, `message`, `warnings` and `auditAnnotations` of the merged verdict, `findings`, `unchecked`, and
/// `releaseVerdicts` if the caller chose the releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluationResult {
    /// The decision. With several releases, the request is denied if any release denies it, and the message lists the errors of all
    /// releases.
    pub decision: Decision,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    pub audit_annotations: Vec<(&'static str, String)>,
    /// Findings, in catalog order.
    pub findings: Vec<ReportedFinding>,
    /// Parts of the request that were not evaluated.
    pub unchecked: Vec<Unchecked>,
    /// Verdicts of the evaluated releases, oldest first. Empty if the caller passed no releases.
    pub release_verdicts: Vec<ReleaseResult>,
}

/// Verdict that several releases share, without its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseResult {
    /// Releases with this verdict; never empty.
    pub releases: ReleaseSet,
    /// The decision of each of the releases.
    pub decision: Decision,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    pub audit_annotations: Vec<(&'static str, String)>,
}

/// Finding of one rule on one field.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ReportedFinding {
    /// The rule; in JSON its id, as accepted by `explain`.
    #[serde(serialize_with = "serialize_rule_id")]
    #[cfg_attr(feature = "typescript", ts(type = "RuleId"))]
    pub rule: &'static Rule,
    /// The enforcement of the rule: deny or warn.
    #[serde(serialize_with = "serialize_enforcement")]
    #[cfg_attr(feature = "typescript", ts(type = "\"deny\" | \"warn\""))]
    pub enforcement: Enforcement,
    /// Path of the field from the object's root: `status.conditions[0].type`. For a missing field, the path it would have.
    pub path: String,
    /// The error type; in JSON the name that kube-apiserver uses: `Invalid value`, `Required value`, `Forbidden`, ...
    #[serde(rename = "type")]
    #[cfg_attr(feature = "typescript", ts(type = "string"))]
    pub error_type: ErrorType,
    /// The whole error in kube-apiserver's format: path, type, value, detail.
    pub message: String,
    /// The reason and the accepted values; may be empty.
    pub detail: String,
    /// The suggested value for the path; `detail` contains it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub suggestion: Option<String>,
    /// True if kube-apiserver reports the same error.
    #[serde(rename = "upstream")]
    pub is_upstream: bool,
    /// Releases with the finding: set if each release is evaluated, or if no version is set and the releases differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub releases: Option<ReleaseSet>,
    /// The error of each release, if the messages differ; the finding itself has the message of the newest release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "typescript",
        ts(
            optional,
            type = "Array<{ releases: Array<string>, type: string, message: string, detail: string }>"
        )
    )]
    pub messages: Vec<ReleaseMessage>,
}

/// Releases that allow and releases that deny a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ReleaseDecisions {
    /// Releases that allow the request.
    pub allowed: ReleaseSet,
    /// Releases that deny the request.
    pub denied: ReleaseSet,
}

impl EvaluationResult {
    /// Creates the result for a malformed request.
    pub fn malformed(malformed: &DecodeError) -> Self {
        Self::from(&Evaluation::uniform(Verdict::malformed(malformed), None))
    }

    /// Returns the releases that allow and deny the request, or [`None`] if the caller passed no releases.
    pub fn releases(&self) -> Option<ReleaseDecisions> {
        let releases_where = |is_allowed: bool| {
            let verdicts = self.release_verdicts.iter();
            let matching = verdicts.filter(|v| v.decision.is_allowed() == is_allowed);
            matching.fold(ReleaseSet::default(), |set, v| set.union(v.releases))
        };
        (!self.release_verdicts.is_empty()).then(|| ReleaseDecisions {
            allowed: releases_where(true),
            denied: releases_where(false),
        })
    }

    /// Returns true if there is nothing to report: everything was evaluated, without findings.
    pub fn is_empty(&self) -> bool {
        self.decision.is_allowed()
            && self.warnings.is_empty()
            && self.findings.is_empty()
            && self.unchecked.is_empty()
    }
}

impl From<&Evaluation<'_>> for EvaluationResult {
    fn from(evaluation: &Evaluation<'_>) -> Self {
        let has_releases = !evaluation.release_verdicts.is_empty();
        // The merged findings replace those of the verdict.
        let Verdict {
            decision,
            warnings,
            audit_annotations,
            findings: _,
        } = &evaluation.verdict;
        let findings = evaluation.findings.iter();
        let release_verdicts = evaluation.release_verdicts.iter();
        Self {
            decision: decision.clone(),
            warnings: warnings.clone(),
            audit_annotations: audit_annotations.clone(),
            findings: findings
                .map(|finding| ReportedFinding::new(finding, has_releases))
                .collect(),
            unchecked: evaluation.unchecked.clone(),
            release_verdicts: release_verdicts
                .map(|shared| ReleaseResult {
                    releases: shared.releases,
                    decision: shared.verdict.decision.clone(),
                    warnings: shared.verdict.warnings.clone(),
                    audit_annotations: shared.verdict.audit_annotations.clone(),
                })
                .collect(),
        }
    }
}

impl ReportedFinding {
    /// Returns true if the finding is about the name of a field, and not about its value. Then the suggestion replaces the name.
    pub fn is_about_key(&self) -> bool {
        *self.rule == manifest::UNKNOWN_FIELD.rule
    }

    /// `releases` of a finding that only some releases report, because no version is set, takes precedence over the evaluated releases.
    fn new(finding: &MergedFinding<'_>, has_releases: bool) -> Self {
        let mut messages = finding.messages();
        if messages.len() == 1 {
            messages.clear();
        }
        let own = finding.finding().releases();
        Self {
            rule: finding.rule(),
            enforcement: finding.enforcement(),
            path: finding.path().to_owned(),
            error_type: finding.error().error_type(),
            message: finding.message(),
            messages,
            is_upstream: finding.finding().is_upstream(),
            detail: finding.detail().to_owned(),
            suggestion: finding.error().suggestion().map(str::to_owned),
            releases: own.or(has_releases.then(|| finding.releases())),
        }
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

/// Serializes as an [`EvaluationResult`].
impl Serialize for Evaluation<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        EvaluationResult::from(self).serialize(json)
    }
}

impl Serialize for EvaluationResult {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        let annotations = &self.audit_annotations;
        serialize_verdict(&self.decision, &self.warnings, annotations, &mut map)?;
        map.serialize_entry("findings", &self.findings)?;
        map.serialize_entry("unchecked", &self.unchecked)?;
        if !self.release_verdicts.is_empty() {
            map.serialize_entry("releaseVerdicts", &self.release_verdicts)?;
        }
        map.end()
    }
}

impl Serialize for ReleaseResult {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        map.serialize_entry("releases", &self.releases)?;
        let annotations = &self.audit_annotations;
        serialize_verdict(&self.decision, &self.warnings, annotations, &mut map)?;
        map.end()
    }
}

/// Serializes the type as in kube-apiserver's messages: `Invalid value`.
impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.serialize_str(self.as_str())
    }
}

impl Serialize for ReleaseSet {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.collect_seq(self.iter().map(Release::as_str))
    }
}

fn serialize_verdict<M: SerializeMap>(
    decision: &Decision,
    warnings: &[String],
    annotations: &[(&'static str, String)],
    map: &mut M,
) -> Result<(), M::Error> {
    map.serialize_entry("allowed", &decision.is_allowed())?;
    if let Decision::Denied { code, message } = decision {
        map.serialize_entry("code", code)?;
        map.serialize_entry("message", message)?;
    }
    map.serialize_entry("warnings", warnings)?;
    map.serialize_entry("auditAnnotations", &Annotations(annotations))
}

struct Annotations<'v>(&'v [(&'static str, String)]);

impl Serialize for Annotations<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

fn serialize_rule_id<S: Serializer>(rule: &Rule, json: S) -> Result<S::Ok, S::Error> {
    json.serialize_str(rule.id())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn serialize_enforcement<S: Serializer>(
    enforcement: &Enforcement,
    json: S,
) -> Result<S::Ok, S::Error> {
    json.serialize_str(enforcement.as_str())
}

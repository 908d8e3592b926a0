//! Evaluates requests with the library and keeps owned results.

use std::fmt;

use managed_by::{
    AdmissionRequest, Decision, DecodeError, Enforcement, ErrorType, Evaluation, Kind,
    MergedFinding, ReleaseMessage, ReleaseSet, Rule, Settings, evaluate,
};
use serde::{Serialize, Serializer};

/// Evaluates requests according to settings.
#[derive(Debug)]
pub struct Evaluator<'s> {
    pub(crate) settings: Settings<'s>,
    /// Releases to evaluate; [`None`] uses the settings.
    releases: Option<ReleaseSet>,
}

/// The owned result of evaluating one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectReport {
    /// The decision. With several releases, the request is denied if any release denies it, and the message lists the
    /// errors of all releases.
    pub decision: Decision,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    pub audit_annotations: Vec<(&'static str, String)>,
    /// Findings, in catalog order.
    pub findings: Vec<ReportedFinding>,
    /// Verdicts per release, if several are evaluated.
    pub releases: Option<ReleaseDecisions>,
}

/// A finding of one rule on one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct ReportedFinding {
    /// The rule; in JSON its id, as accepted by `explain`.
    #[serde(serialize_with = "serialize_rule_id")]
    #[cfg_attr(feature = "package", ts(type = "RuleId"))]
    pub rule: &'static Rule,
    /// The enforcement of the rule: deny or warn.
    #[serde(serialize_with = "serialize_enforcement")]
    #[cfg_attr(feature = "package", ts(type = "\"deny\" | \"warn\""))]
    pub enforcement: Enforcement,
    /// Path of the field from the object's root: `status.conditions[0].type`. For a missing field, the path it would have.
    pub path: String,
    /// The error type; in JSON the name that kube-apiserver uses: `Invalid value`, `Required value`, `Forbidden`, ...
    #[serde(rename = "type")]
    #[cfg_attr(feature = "package", ts(type = "string"))]
    pub error_type: ErrorType,
    /// The whole error in kube-apiserver's format: path, type, value, detail.
    pub message: String,
    /// The reason and the accepted values; may be empty.
    pub detail: String,
    /// The suggested value for the path; `detail` contains it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub suggestion: Option<String>,
    /// True if kube-apiserver reports the same error.
    #[serde(rename = "upstream")]
    pub is_upstream: bool,
    /// Releases with the finding: set if each release is evaluated, or if no version is set and the releases differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, as = "Option<Vec<String>>"))]
    pub releases: Option<ReleaseSet>,
    /// The error of each release, if the messages differ; the finding itself has the message of the newest release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "package",
        ts(
            optional,
            type = "Array<{ releases: Array<string>, type: string, message: string, detail: string }>"
        )
    )]
    pub messages: Vec<ReleaseMessage>,
}

/// Decision of each release: the releases that allow and the releases that deny a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReleaseDecisions {
    /// Releases that allow the request.
    pub allowed: ReleaseSet,
    /// Releases that deny the request.
    pub denied: ReleaseSet,
}

impl<'s> Evaluator<'s> {
    /// Creates an evaluator. With `releases`, each release is evaluated and [`ObjectReport::releases`] lists the verdicts;
    /// otherwise `kubernetes_version` of the settings applies, as in [`managed_by::review`].
    pub fn new(settings: Settings<'s>, releases: Option<ReleaseSet>) -> Self {
        Self { settings, releases }
    }

    /// Returns true if the library supports the kind or the settings declare it.
    pub fn supports(&self, group: &str, version: &str, kind: &str) -> bool {
        Kind::find(group, version, kind).is_some() || self.settings.declares(group, version, kind)
    }

    /// Evaluates an `AdmissionRequest` given as JSON.
    ///
    /// # Errors
    /// Returns an error if the text is not a request, or if its object has a field of the wrong type.
    pub fn evaluate_json(&self, request: &[u8]) -> Result<ObjectReport, DecodeError> {
        Ok(self.evaluate(&AdmissionRequest::from_json(request)?))
    }

    /// Evaluates a request.
    pub fn evaluate(&self, request: &AdmissionRequest<'_>) -> ObjectReport {
        ObjectReport::new(&evaluate(request, &self.settings, self.releases))
    }

    /// Returns the evaluated releases that drop `managedBy` from the object unless their feature gate is enabled.
    pub fn releases_dropping_managed_by(&self, request: &AdmissionRequest<'_>) -> ReleaseSet {
        let configured = self.settings.kubernetes_version().map(ReleaseSet::from);
        let evaluated = self.releases.or(configured).unwrap_or_default();
        request
            .releases_dropping_managed_by()
            .intersection(evaluated)
    }
}

impl ObjectReport {
    /// Converts the library's evaluation of a request.
    pub fn new(evaluation: &Evaluation<'_>) -> Self {
        let has_releases = !evaluation.release_verdicts().is_empty();
        let verdict = evaluation.verdict().clone();
        let findings = evaluation.findings().iter();
        Self {
            decision: verdict.decision,
            warnings: verdict.warnings,
            audit_annotations: verdict.audit_annotations,
            findings: findings
                .map(|finding| ReportedFinding::new(finding, has_releases))
                .collect(),
            releases: has_releases.then(|| ReleaseDecisions {
                allowed: evaluation.allowed_by(),
                denied: evaluation.denied_by(),
            }),
        }
    }

    /// Creates the result for a malformed request.
    pub fn malformed(malformed: &DecodeError) -> Self {
        let verdict = managed_by::Verdict::malformed(malformed);
        Self::new(&Evaluation::uniform(verdict, None))
    }

    /// Returns true if there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.decision.is_allowed() && self.warnings.is_empty() && self.findings.is_empty()
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

impl ReportedFinding {
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
            releases: has_releases.then(|| finding.releases()).or(own),
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

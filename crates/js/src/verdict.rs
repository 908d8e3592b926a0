//! Verdicts and findings, as the package returns them.

use managed_by::{DecodeError, Evaluation, Release, ReleaseSet, Unchecked};
use serde::{Serialize, Serializer};

use crate::position::Position;

/// Verdict on an admission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Verdict"))]
#[serde(rename_all = "camelCase")]
pub struct ReviewVerdict {
    /// True if the request is allowed.
    pub allowed: bool,
    /// HTTP status of a denial: 422 for an invalid object, 403 for a write that is forbidden in the namespace or to the user, 400
    /// for a malformed request, 503 for a pod whose Job cannot be looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub code: Option<u16>,
    /// Message for the client if denied, in kube-apiserver's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
    /// Warnings for the client, at most 256 bytes each.
    pub warnings: Vec<String>,
    /// Annotations for the audit log: `mode` and `controller`; the rules in `denied`, `warned` and `exempted`, with paths; for
    /// pods, `not-validated` or `lookup-failed`.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "package", ts(type = "Record<string, string>"))]
    pub audit_annotations: Vec<(&'static str, String)>,
    /// Findings, in the order of `rules()`.
    pub findings: Vec<Finding>,
    /// Parts of the request that were not evaluated.
    pub unchecked: Vec<UncheckedPart>,
    /// Verdict of each Kubernetes release, for `review` with `releases`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub releases: Option<Vec<ReleaseVerdict>>,
}

/// Verdict with `kubernetes_version` set to a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct ReleaseVerdict {
    /// Release, for example `1.37`.
    pub release: &'static str,
    /// Verdict for the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(type = "Verdict"))]
    pub verdict: Option<ReviewVerdict>,
}

/// A finding of a rule at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Finding {
    /// The finding.
    #[serde(flatten)]
    pub reported: managed_by::Finding,
    /// `releases` as text: `1.30 to 1.31, 1.33 from 1.33.6`.
    #[serde(rename = "releaseRange", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub release_range: Option<String>,
    /// Position in the text, for `lint` and `diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub position: Option<Position>,
}

/// A part of a request that was not evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Unchecked"))]
pub struct UncheckedPart {
    /// Path; empty for the whole object.
    pub path: String,
    /// Reason: `unsupported-kind`, `unsupported-version`, `too-many-templates`, `lookup-failed`, `pods-not-selected` or
    /// `only-api-server-validates`.
    pub reason: &'static str,
    /// Path and reason for people: `spec.template: not checked, kube-apiserver may reject the change`.
    pub message: String,
}

impl UncheckedPart {
    fn new(unchecked: Unchecked) -> Self {
        Self {
            message: unchecked.to_string(),
            path: unchecked.path,
            reason: unchecked.reason.as_str(),
        }
    }
}

impl ReviewVerdict {
    /// Returns the policy's verdict on a malformed request.
    pub(crate) fn malformed(reason: &DecodeError) -> Self {
        Self::new(Evaluation::malformed(reason))
    }

    /// Converts a verdict of the library.
    pub(crate) fn new(report: Evaluation) -> Self {
        // The package lists the releases itself.
        let Evaluation {
            verdict,
            findings,
            unchecked,
            release_verdicts: _,
        } = report;
        let findings = findings.into_iter().map(|reported| Finding {
            release_range: reported.releases.map(|releases| releases.to_string()),
            reported,
            position: None,
        });
        Self {
            allowed: verdict.decision.is_allowed(),
            code: verdict.decision.code(),
            message: verdict.decision.message().map(str::to_owned),
            warnings: verdict.warnings,
            audit_annotations: verdict.audit_annotations,
            findings: findings.collect(),
            unchecked: unchecked.into_iter().map(UncheckedPart::new).collect(),
            releases: None,
        }
    }
}

/// Returns the verdict of each release. Consecutive releases with equal verdicts share the first one.
pub(crate) fn release_verdicts(evaluation: &Evaluation) -> Vec<ReleaseVerdict> {
    let mut previous = ReleaseSet::default();
    let verdicts = Release::ALL.iter().filter_map(|&release| {
        let mut groups = evaluation.release_verdicts.iter();
        let group = groups.find(|group| group.releases.contains(release))?;
        let is_shared = group.releases == previous;
        previous = group.releases;
        let verdict = evaluation.for_release(release).filter(|_| !is_shared);
        Some(ReleaseVerdict {
            release: release.as_str(),
            verdict: verdict.map(ReviewVerdict::new),
        })
    });
    verdicts.collect()
}

/// Serializes pairs as an object. Collecting them in a map would add a second sort implementation to the module.
fn as_map<S: Serializer>(
    pairs: &[(&'static str, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// Returns the names of the releases in a set, oldest first.
pub(crate) fn release_names(set: ReleaseSet) -> Vec<&'static str> {
    set.iter().map(Release::as_str).collect()
}

//! The answers, as plain objects.

use std::collections::BTreeMap;

use managed_by::{Enforcement, Problems, Release, Settings};
use serde::Serialize;

/// The answer to an admission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Whether the request may go on.
    pub allowed: bool,
    /// HTTP status of a denial: 422 for an invalid object, 403 for one that may not be written here or by this user, 400 for a
    /// request that makes no sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub code: Option<u16>,
    /// What the client reads when denied: kube-apiserver's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
    /// Shown to the client either way; at most 256 bytes each.
    pub warnings: Vec<String>,
    /// For the audit log: `mode`, `controller`, and with their paths the rules that `denied`, `warned`, or are `exempted`.
    #[cfg_attr(feature = "package", ts(type = "Record<string, string>"))]
    pub audit_annotations: BTreeMap<&'static str, String>,
    /// What the rules found, in the order of `rules()`.
    pub findings: Vec<Finding>,
}

/// What one rule found at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule's id, which `explain` takes.
    pub rule: &'static str,
    /// Whether it denies the request or warns.
    #[cfg_attr(feature = "package", ts(type = "\"deny\" | \"warn\""))]
    pub enforcement: &'static str,
    /// The field's path from the object's root: `status.conditions[0].type`. Of a field that is missing, where it would stand.
    pub path: String,
    /// kube-apiserver's word for the trouble: `Invalid value`, `Required value`, `Forbidden`, ...
    #[serde(rename = "type")]
    pub error_type: &'static str,
    /// What is wrong, and what would do.
    pub detail: String,
    /// The whole text, as it stands in the message of a denial or in a warning (which may be cut there).
    pub message: String,
    /// Whether kube-apiserver would find it too. Its words are kept then.
    pub upstream: bool,
    /// The releases that deny for this, where the settings choose none and not all of them do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub releases: Option<Vec<&'static str>>,
}

impl Verdict {
    /// The library's verdict, as texts.
    pub(crate) fn of(verdict: &managed_by::Verdict<'_>, settings: &Settings<'_>) -> Self {
        let release = settings.kubernetes_version().unwrap_or_default();
        let findings = verdict.findings.iter();
        Self {
            allowed: verdict.allowed,
            code: verdict.code,
            message: verdict.message.clone(),
            warnings: verdict.warnings.clone(),
            audit_annotations: verdict.audit_annotations.iter().cloned().collect(),
            findings: findings
                .map(|(enforcement, finding)| Finding::of(*enforcement, finding, release))
                .collect(),
        }
    }
}

impl Finding {
    fn of(
        enforcement: Enforcement,
        finding: &managed_by::Finding<'_>,
        release: Release,
    ) -> Self {
        let error = finding.error();
        let releases = finding.releases();
        Self {
            rule: finding.rule().id(),
            enforcement: enforcement.as_str(),
            path: error.path().to_owned(),
            error_type: error.error_type().as_str(),
            detail: error.detail().to_owned(),
            message: match enforcement {
                Enforcement::Deny => finding.denial(release),
                Enforcement::Warn | Enforcement::Off => finding.warning(release),
            },
            upstream: finding.is_upstream(),
            releases: releases.map(|set| set.iter().map(Release::as_str).collect()),
        }
    }
}

/// What there is to say about settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct SettingsVerdict {
    /// Whether a PolicyServer would start with them.
    pub valid: bool,
    /// What it would write to its log otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
    /// Everything that is wrong, in the order of the settings; no more than 50.
    pub problems: Vec<Problem>,
}

impl From<&Result<Settings<'_>, Problems>> for SettingsVerdict {
    fn from(read: &Result<Settings<'_>, Problems>) -> Self {
        let problems = read.as_ref().err();
        Self {
            valid: read.is_ok(),
            message: problems.map(ToString::to_string),
            problems: problems.map_or_else(Vec::new, |problems| {
                problems.as_slice().iter().map(Problem::from).collect()
            }),
        }
    }
}

/// One thing wrong with settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Problem {
    /// Where it is: `rules["managed-by/format"]`.
    pub path: String,
    /// The path, what is there, what is allowed, and the nearest word that would do.
    pub message: String,
}

impl From<&managed_by::Problem> for Problem {
    fn from(problem: &managed_by::Problem) -> Self {
        Self {
            path: problem.path().to_owned(),
            message: problem.to_string(),
        }
    }
}

//! Evaluates requests with the library and keeps owned results.

use std::fmt;

use managed_by::{
    AdmissionRequest, Decision, Enforcement, ErrorType, Kind, Malformed, MergedFinding, Release,
    ReleaseMessage, ReleaseSet, Rule, Settings, evaluate,
};
use serde::{Serialize, Serializer};

/// Evaluates requests according to settings.
#[derive(Debug)]
pub struct Judge<'s> {
    settings: Settings<'s>,
    /// Releases to evaluate; [`None`] uses the settings.
    releases: Option<ReleaseSet>,
}

/// The owned result of evaluating one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectReport {
    /// The decision. With several releases, the request is denied if any release denies it, and the message lists the
    /// errors of all.
    pub decision: Decision,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    pub audit_annotations: Vec<(&'static str, String)>,
    /// Findings, in catalogue order.
    pub findings: Vec<Found>,
    /// Verdicts per release, if several are evaluated.
    pub releases: Option<Matrix>,
}

/// A finding of one rule on one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Found {
    /// The rule; in JSON its id, as accepted by `explain`.
    #[serde(serialize_with = "id")]
    #[cfg_attr(feature = "package", ts(type = "RuleId"))]
    pub rule: &'static Rule,
    /// The enforcement of the rule: deny or warn.
    #[serde(serialize_with = "word")]
    #[cfg_attr(feature = "package", ts(type = "\"deny\" | \"warn\""))]
    pub enforcement: Enforcement,
    /// Path of the field from the object's root: `status.conditions[0].type`. For a missing field, the path it would have.
    pub path: String,
    /// The error type; in JSON the name that kube-apiserver uses: `Invalid value`, `Required value`, `Forbidden`, ...
    #[serde(rename = "type")]
    #[cfg_attr(feature = "package", ts(type = "string"))]
    pub error_type: ErrorType,
    /// The whole error in kube-apiserver's format: path, type, value, detail.
    pub text: String,
    /// The reason and the accepted values; may be empty.
    pub detail: String,
    /// The suggested value for the path; `detail` contains it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub suggestion: Option<String>,
    /// True if kube-apiserver reports the same error.
    #[serde(rename = "upstream")]
    pub is_upstream: bool,
    /// Releases with the finding, if the settings select none and the releases differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, as = "Option<Vec<String>>"))]
    pub releases: Option<ReleaseSet>,
    /// The error of each release, if the texts differ; the finding itself has the text of the newest release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "package",
        ts(
            optional,
            type = "Array<{ releases: Array<string>, type: string, text: string, detail: string }>"
        )
    )]
    pub texts: Vec<ReleaseMessage>,
}

/// Releases that accept and releases that deny a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Matrix {
    /// Releases that accept the request.
    pub accepted: ReleaseSet,
    /// Releases that deny the request.
    pub denied: ReleaseSet,
}

impl<'s> Judge<'s> {
    /// Creates a judge. With `releases`, each release is evaluated and [`ObjectReport::releases`] lists the verdicts;
    /// otherwise the settings select one release, or the findings common to all.
    pub fn new(settings: Settings<'s>, releases: Option<ReleaseSet>) -> Self {
        Self { settings, releases }
    }

    pub(crate) fn settings(&self) -> &Settings<'s> {
        &self.settings
    }

    /// Returns true if the library supports the kind or the settings declare it.
    pub fn knows(&self, group: &str, version: &str, kind: &str) -> bool {
        Kind::find(group, version, kind).is_some() || self.settings.declares(group, version, kind)
    }

    /// Evaluates an `AdmissionRequest` given as JSON.
    ///
    /// # Errors
    /// Returns an error if the text is not a request, or if its object has a field of the wrong type.
    pub fn ask(&self, request: &[u8]) -> Result<ObjectReport, Malformed> {
        Ok(self.review(&AdmissionRequest::from_json(request)?))
    }

    /// Evaluates a request.
    pub fn review(&self, request: &AdmissionRequest<'_>) -> ObjectReport {
        let evaluation = evaluate(request, &self.settings, self.releases);
        ObjectReport::of(&evaluation)
    }

    /// Returns the evaluated releases that drop `managedBy` from the object unless their feature gate is on.
    pub fn dropped_by(&self, request: &AdmissionRequest<'_>) -> ReleaseSet {
        let chosen = self.settings.kubernetes_version().map(ReleaseSet::from);
        let asked = self.releases.or(chosen).unwrap_or_default();
        request.dropped_by().intersection(asked)
    }
}

impl ObjectReport {
    /// Converts the library's evaluation of a request.
    pub fn of(said: &managed_by::Evaluation<'_>) -> Self {
        let is_of_releases = !said.release_verdicts().is_empty();
        let verdict = said.verdict().clone();
        let findings = said.findings().iter();
        Self {
            decision: verdict.decision,
            warnings: verdict.warnings,
            audit_annotations: verdict.audit_annotations,
            findings: findings
                .map(|found| Found::of(found, is_of_releases))
                .collect(),
            releases: is_of_releases.then(|| Matrix {
                accepted: said.accepted_by(),
                denied: said.denied_by(),
            }),
        }
    }

    /// Creates the result for a malformed request.
    pub fn malformed(malformed: &Malformed) -> Self {
        let verdict = managed_by::Verdict::malformed(malformed);
        Self::of(&managed_by::Evaluation::of_all(verdict, None))
    }

    /// Returns true if there is nothing to report.
    pub fn is_quiet(&self) -> bool {
        self.decision.is_allowed() && self.warnings.is_empty() && self.findings.is_empty()
    }
}

fn id<S: Serializer>(rule: &Rule, json: S) -> Result<S::Ok, S::Error> {
    json.serialize_str(rule.id())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn word<S: Serializer>(enforcement: &Enforcement, json: S) -> Result<S::Ok, S::Error> {
    json.serialize_str(enforcement.as_str())
}

impl Found {
    fn of(found: &MergedFinding<'_>, is_of_releases: bool) -> Self {
        let mut texts = found.texts();
        if texts.len() == 1 {
            texts.clear();
        }
        let chosen = found.finding().releases();
        Self {
            rule: found.rule(),
            enforcement: found.enforcement(),
            path: found.path().to_owned(),
            error_type: found.error().error_type(),
            text: found.text(),
            texts,
            is_upstream: found.finding().is_upstream(),
            detail: found.detail().to_owned(),
            suggestion: found.error().suggestion().map(str::to_owned),
            releases: is_of_releases.then(|| found.releases()).or(chosen),
        }
    }
}

impl Matrix {
    /// Returns the evaluated releases.
    pub const fn asked(self) -> ReleaseSet {
        self.accepted.union(self.denied)
    }
}

/// Formats as `accepted by 1.30 and 1.31, denied from 1.32 on`.
impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = || match self.asked() {
            asked if asked == ReleaseSet::all() => "by every release".to_owned(),
            asked => words(asked, "by"),
        };
        match (self.accepted.is_empty(), self.denied.is_empty()) {
            (_, true) => write!(f, "accepted {}", all()),
            (true, false) => write!(f, "denied {}", all()),
            (false, false) => {
                let accepted = words(self.accepted, "by");
                write!(
                    f,
                    "accepted {accepted}, denied {}",
                    words(self.denied, "by")
                )
            }
        }
    }
}

/// Formats a set of releases: `from 1.32 on`, `up to 1.31`, `by 1.30, 1.32 to 1.33`.
fn words(set: ReleaseSet, by: &str) -> String {
    let missing = |release: &Release| !set.contains(*release);
    let newest = Release::ALL.last();
    match set.iter().next() {
        Some(first)
            if newest.is_some_and(|n| set.contains(*n))
                && !Release::ALL.iter().filter(|r| **r >= first).any(missing)
                && set.iter().count() > 1 =>
        {
            format!("from {first} on")
        }
        _ => format!("{by} {set}"),
    }
}

#[cfg(test)]
mod tests {
    use managed_by::{Release, ReleaseSet};

    use super::Matrix;

    #[test]
    fn a_matrix_reads_as_people_say_it() {
        let set = |range: &str| -> ReleaseSet {
            let all = Release::ALL.iter().map(ToString::to_string);
            let range = range.split_once('-');
            let is_in =
                |name: &String| range.is_some_and(|(from, to)| (from..=to).contains(&&**name));
            all.filter(is_in)
                .map(|name| name.parse::<Release>().unwrap())
                .collect()
        };
        for (accepted, denied, expected) in [
            ("1.30-1.37", "", "accepted by every release"),
            ("", "1.30-1.37", "denied by every release"),
            ("", "1.31-1.33", "denied by 1.31 to 1.33"),
            (
                "1.30-1.31",
                "1.32-1.37",
                "accepted by 1.30 to 1.31, denied from 1.32 on",
            ),
            (
                "1.32-1.37",
                "1.30-1.31",
                "accepted from 1.32 on, denied by 1.30 to 1.31",
            ),
            (
                "1.30-1.36",
                "1.37-1.37",
                "accepted by 1.30 to 1.36, denied by 1.37",
            ),
        ] {
            let (accepted, denied) = (set(accepted), set(denied));
            assert_eq!(Matrix { accepted, denied }.to_string(), expected);
        }
    }
}

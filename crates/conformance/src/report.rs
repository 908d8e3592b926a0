//! The data of a report. `docs/cli.schema.json` describes the members of its JSON, which have the same names in camel case.

use std::fmt;

use managed_by::ReleaseSet;
use serde::Serialize;
use serde_json::Value;

/// Conformance of a controller's writes to the rules of each release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConformanceReport {
    #[serde(rename = "format")]
    pub(crate) format_version: u32,
    pub(crate) controller: String,
    #[serde(flatten)]
    pub(crate) provenance: Provenance,
    pub(crate) releases: ReleaseSet,
    pub(crate) objects: u64,
    pub(crate) writes: u64,
    pub(crate) status_writes: u64,
    pub(crate) denied_writes: u64,
    pub(crate) rejected_writes: u64,
    pub(crate) transient_rejections: u64,
    pub(crate) other_controller_writes: u64,
    pub(crate) skipped: u64,
    pub(crate) denied_by: ReleaseSet,
    pub(crate) conforms_to: ReleaseSet,
    pub(crate) profiles: Vec<ProfileResult>,
    /// Results by rule, in the order in which kube-apiserver checks the rules.
    pub(crate) rules: Vec<RuleResult>,
    /// Rules of this project that warn about status writes, which releases accept. They don't change the result.
    pub(crate) warnings: Vec<RuleWarning>,
    pub(crate) denied_objects: Vec<DeniedWrites>,
    /// Number of further objects with denied or rejected writes.
    pub(crate) omitted_objects: u64,
    pub(crate) unfinished: u64,
    /// The first of these objects.
    pub(crate) unfinished_objects: Vec<UnfinishedObject>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileResult {
    pub(crate) profile: &'static str,
    pub(crate) is_required: bool,
    pub(crate) exercised_in: ReleaseSet,
    pub(crate) missing: Vec<MissingPart>,
}

/// Part of a profile that no write exercised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MissingPart {
    pub(crate) id: &'static str,
    /// Title. Backticks enclose code.
    pub(crate) title: &'static str,
    pub(crate) releases: ReleaseSet,
}

/// A live object that did not reach an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnfinishedObject {
    /// Object name, such as `Job.batch team-a/pi`.
    pub(crate) object: String,
    pub(crate) problem: OutcomeProblem,
    pub(crate) last_write: String,
}

/// Reason why an object did not reach an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OutcomeProblem {
    /// The last writes were rejected, and none was accepted after them.
    RejectedRepeatedly,
    /// The status is empty.
    StatusNeverWritten,
    /// The Job neither completed nor failed.
    NotFinished,
}

impl fmt::Display for OutcomeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RejectedRepeatedly => "the API server rejected its last writes",
            Self::StatusNeverWritten => "its status is never written",
            Self::NotFinished => "neither completes nor fails",
        })
    }
}

/// Origin of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Provenance {
    pub(crate) version: &'static str,
    pub(crate) generated_at: String,
    pub(crate) recordings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleResult {
    pub(crate) rule: &'static str,
    pub(crate) title: &'static str,
    /// True for kube-apiserver's rules, false for this project's rules for custom resources.
    pub(crate) is_upstream: bool,
    pub(crate) results: Vec<RuleCounts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleWarning {
    pub(crate) rule: &'static str,
    pub(crate) title: &'static str,
    pub(crate) writes: u64,
    pub(crate) object: String,
    pub(crate) first_write: String,
}

/// Result of a rule in a release, with the number of writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleCounts {
    pub(crate) outcome: ConformanceOutcome,
    pub(crate) exercised: u64,
    pub(crate) denied: u64,
}

/// Outcome of a rule in a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ConformanceOutcome {
    /// The release does not have the rule.
    NotInRelease,
    /// No write exercised the rule. This is not a pass.
    #[default]
    Untested,
    /// Writes exercised the rule, and it denies none.
    Passed,
    /// The rule denies a write.
    Denied,
}

/// The denied and rejected writes to an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeniedWrites {
    /// Object name, such as `Job.batch team-a/pi`.
    pub(crate) object: String,
    pub(crate) writes: Vec<RecordedWrite>,
    pub(crate) omitted_writes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedWrite {
    pub(crate) location: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    pub(crate) operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rejected: Option<Rejection>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) repeated: u64,
    /// Denials; empty if every release allows the write, which the API server rejected.
    pub(crate) denials: Vec<Denial>,
    pub(crate) change: FieldChange,
}

/// Response of an API server that rejected a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rejection {
    pub(crate) code: u16,
    /// Message; empty if not recorded.
    pub(crate) message: String,
}

/// Value of a top-level field before and after a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldChange {
    pub(crate) field: &'static str,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

/// A denial of a write by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Denial {
    pub(crate) rule: &'static str,
    pub(crate) releases: ReleaseSet,
    /// Error message of the newest of these releases.
    pub(crate) message: String,
}

impl ConformanceReport {
    /// Returns the rules that no write exercised in any release.
    pub(crate) fn untested_rules(&self) -> impl Iterator<Item = &RuleResult> {
        let is_untested = |rule: &&RuleResult| rule.results.iter().all(|r| r.exercised == 0);
        self.rules.iter().filter(is_untested)
    }

    /// Returns the columns of the table of results: releases with the same results, and their index in the results of each rule.
    pub(crate) fn columns(&self) -> Vec<(ReleaseSet, usize)> {
        let mut columns: Vec<(ReleaseSet, usize)> = Vec::new();
        for (index, release) in self.releases.iter().enumerate() {
            let is_same = |(_, known): &&mut (ReleaseSet, usize)| {
                let mut rules = self.rules.iter();
                rules.all(|rule| rule.results.get(*known) == rule.results.get(index))
            };
            match columns.iter_mut().find(is_same) {
                Some((releases, _)) => *releases = releases.union(release.into()),
                None => columns.push((release.into(), index)),
            }
        }
        columns
    }

    /// Returns the rules; rules that deny a write come first.
    pub(crate) fn rules_denied_first(&self) -> impl Iterator<Item = &RuleResult> {
        let denying = self.rules.iter().filter(|rule| rule.is_denied());
        denying.chain(self.rules.iter().filter(|rule| !rule.is_denied()))
    }

    /// Returns the result in one line: what prevents conformance first, then the releases that the controller conforms to and the
    /// profiles, such as `status denied by 1.30, conforms to 1.31 to 1.37 (Core, Indexed)`.
    pub(crate) fn headline(&self) -> String {
        match self.skipped {
            0 => {}
            1 => return "status: no result, 1 record could not be evaluated".to_owned(),
            all => return format!("status: no result, {all} records could not be evaluated"),
        }
        let mut parts = Vec::new();
        match self.rejected_writes {
            0 => {}
            1 => parts.push("1 write rejected by the API server".to_owned()),
            all => parts.push(format!("{all} writes rejected by the API server")),
        }
        let denied_by = self.denied_by;
        match (denied_by.is_empty(), self.status_writes) {
            (true, 0) if self.rejected_writes == 0 => {
                return "status: no writes recorded".to_owned();
            }
            (true, _) => {}
            // A write of the main resource can be denied too.
            (false, 0) => parts.push(format!("writes denied by {denied_by}")),
            (false, _) => parts.push(format!("status denied by {denied_by}")),
        }
        match self.unfinished {
            0 => {}
            1 => parts.push("1 object unfinished".to_owned()),
            all => parts.push(format!("{all} objects unfinished")),
        }
        let required = self.profiles.iter().filter(|profile| profile.is_required);
        let incomplete: Vec<_> = required
            .filter(|profile| !profile.missing.is_empty())
            .map(|profile| profile.profile)
            .collect();
        if !incomplete.is_empty() {
            parts.push(format!("incomplete ({})", incomplete.join(", ")));
        }
        if !self.conforms_to.is_empty() {
            let status = if parts.is_empty() { "status " } else { "" };
            let mut text = format!("{status}conforms to {}", self.conforms_to);
            let passed = self.profiles.iter().filter(|profile| {
                let missing = self.conforms_to.difference(profile.exercised_in);
                missing.is_empty()
            });
            let passed: Vec<_> = passed.map(|profile| profile.profile).collect();
            if !passed.is_empty() {
                text.extend([" (", &passed.join(", "), ")"]);
            }
            parts.push(text);
        }
        if parts.is_empty() {
            return "status: no rules tested".to_owned();
        }
        parts.join(", ")
    }

    /// Returns true if a required profile is not exercised completely, or an object is unfinished.
    pub(crate) fn is_incomplete(&self) -> bool {
        let mut required = self.profiles.iter().filter(|profile| profile.is_required);
        self.unfinished > 0 || required.any(|profile| !profile.missing.is_empty())
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl RuleResult {
    /// Returns true if the rule denies a write in any release.
    pub(crate) fn is_denied(&self) -> bool {
        self.results.iter().any(|result| result.denied > 0)
    }
}

/// Formats as `✗ 2 of 12`, `✓ 12`, `untested` or `not in release`.
impl fmt::Display for RuleCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            outcome,
            exercised,
            denied,
        } = self;
        match outcome {
            ConformanceOutcome::NotInRelease => f.write_str("not in release"),
            ConformanceOutcome::Untested => f.write_str("untested"),
            ConformanceOutcome::Passed => write!(f, "✓ {exercised}"),
            ConformanceOutcome::Denied => write!(f, "✗ {denied} of {exercised}"),
        }
    }
}

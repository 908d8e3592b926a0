//! The result of one request, with the position of each finding.

use std::sync::Arc;

use managed_by::{
    Decision, Enforcement, Evaluation, ReleaseDecisions, ReleaseSet, Unchecked, UncheckedReason,
};
use managed_by_console::diagnostic::{Level, SourceLine, Span};
use managed_by_console::format::single_line;
use managed_by_offline::Operation;
use managed_by_offline::replay::ObjectRef;
use serde::{Serialize, Serializer};

/// Returns the id of a part that was not evaluated, in formats where each entry has one.
pub(crate) fn unchecked_id(reason: UncheckedReason) -> String {
    format!("not-evaluated/{}", reason.as_str())
}

/// Returns the level of a part that was not evaluated: a warning, unless nothing is missing.
pub(crate) fn unchecked_level(reason: UncheckedReason) -> Level {
    match reason {
        UncheckedReason::UnsupportedKind | UncheckedReason::PodsNotSelected => Level::Note,
        _ => Level::Warning,
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestResult {
    pub(crate) file: Arc<str>,
    /// Position of the object's start.
    #[serde(flatten)]
    pub(crate) span: Option<Span>,
    pub(crate) object: ObjectRef,
    #[serde(flatten)]
    pub(crate) operation: Operation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unchecked: Vec<Unchecked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    /// The decision; in JSON as `allowed`, `code` and `message`.
    #[serde(flatten)]
    pub(crate) decision: Decision,
    pub(crate) warnings: Vec<String>,
    /// Verdicts per release, if several are evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) releases: Option<ReleaseDecisions>,
    /// Evaluated releases that drop `managedBy` from the object unless their feature gate is enabled.
    #[serde(rename = "droppedBy", skip_serializing_if = "Option::is_none")]
    pub(crate) releases_dropping_managed_by: Option<ReleaseSet>,
    pub(crate) findings: Vec<LocatedFinding>,
}

/// A finding and its position in a file.
#[derive(Debug, Serialize)]
pub(crate) struct LocatedFinding {
    #[serde(flatten, serialize_with = "serialize_with_help")]
    pub(crate) reported: managed_by::Finding,
    #[serde(flatten)]
    pub(crate) span: Option<Span>,
    #[serde(skip)]
    pub(crate) source: Option<SourceLine>,
    /// The reason of the object's exception, if it has one. The finding then affects neither the decision nor the exit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exception: Option<String>,
}

impl LocatedFinding {
    pub(crate) fn is_denial(&self) -> bool {
        self.reported.enforcement == Enforcement::Deny
    }

    pub(crate) fn level(&self) -> Level {
        if self.is_denial() {
            Level::Error
        } else {
            Level::Warning
        }
    }
}

impl RequestResult {
    /// Describes the releases with a finding. Returns [`None`] if no release was requested and all releases agree.
    pub(crate) fn releases_of(&self, finding: &LocatedFinding) -> Option<String> {
        let releases = finding.reported.releases?;
        Some(match self.releases {
            Some(decisions) if finding.is_denial() => {
                let allowed = decisions.evaluated().difference(releases);
                let denied = releases;
                ReleaseDecisions { allowed, denied }.to_string()
            }
            Some(_) => format!("in {releases}"),
            None => format!("kube-apiserver {releases} denies it"),
        })
    }

    pub(crate) fn text_of(&self, finding: &LocatedFinding) -> String {
        let text = &finding.reported.message;
        match self.releases_of(finding) {
            Some(releases) => format!("{text} ({releases})"),
            None => text.clone(),
        }
    }

    /// Describes the request, such as `UPDATE of Job.batch team-a/pi (status)`.
    pub(crate) fn describe_request(&self) -> String {
        let (object, operation) = (&self.object, self.operation.as_str());
        match self.operation {
            Operation::Stored => format!("stored {object}"),
            Operation::UpdateStatus => format!("{operation} of {object} (status)"),
            _ => format!("{operation} of {object}"),
        }
    }

    /// Returns true if the object has a warning: a finding, or a part that was not evaluated.
    pub(crate) fn has_warning(&self) -> bool {
        let mut unchecked = self.unchecked.iter();
        self.unsuppressed_findings()
            .any(|finding| finding.level() == Level::Warning)
            || unchecked.any(|part| unchecked_level(part.reason) == Level::Warning)
    }

    /// Describes the parts that were not evaluated, one text per reason: `spec.template, spec.completions: not checked, ...`.
    pub(crate) fn unchecked_texts(&self) -> impl Iterator<Item = (Level, String)> {
        let mut by_reason: Vec<(UncheckedReason, Vec<&str>)> = Vec::new();
        for Unchecked { path, reason, .. } in &self.unchecked {
            match by_reason.iter_mut().find(|(known, _)| known == reason) {
                Some((_, paths)) => paths.push(path),
                None => by_reason.push((*reason, vec![path])),
            }
        }
        let texts = by_reason.into_iter();
        texts.map(|(reason, paths)| {
            let text = Unchecked::new(paths.join(", "), reason).to_string();
            (unchecked_level(reason), text)
        })
    }

    /// Returns a note if any evaluated release drops `managedBy`.
    pub(crate) fn dropped_field_note(&self) -> Option<String> {
        let releases = self.releases_dropping_managed_by?;
        Some(format!(
            "kube-apiserver {releases} drops spec.managedBy if the JobManagedBy feature gate is disabled: the Job is then not delegated, a later apply is denied, and admission policies don't receive the field"
        ))
    }

    /// Creates a result with the findings of a report.
    pub(crate) fn new(
        file: &Arc<str>,
        object: ObjectRef,
        operation: Operation,
        report: Evaluation,
        mut locate: impl FnMut(&managed_by::Finding) -> Option<(Span, Option<SourceLine>)>,
    ) -> Self {
        let releases = report.releases();
        let findings = report.findings.into_iter().map(|reported| {
            let (span, source) = locate(&reported).unzip();
            LocatedFinding {
                reported,
                span,
                source: source.flatten(),
                exception: None,
            }
        });
        Self {
            file: Arc::clone(file),
            span: None,
            object,
            operation,
            note: None,
            unchecked: report.unchecked,
            user: None,
            time: None,
            findings: findings.collect(),
            decision: report.verdict.decision,
            warnings: report.verdict.warnings,
            releases,
            releases_dropping_managed_by: None,
        }
    }

    /// Suppresses the findings of a rule and updates the decision. Returns true if there are any.
    pub(crate) fn suppress(&mut self, rule: &str, reason: &str) -> bool {
        let mut is_used = false;
        for finding in &mut self.findings {
            if finding.reported.rule.id() == rule {
                finding.exception = Some(reason.to_owned());
                is_used = true;
            }
        }
        let denials = self.findings.iter().filter(|finding| finding.is_denial());
        if denials.clone().all(|finding| finding.exception.is_none()) {
            return is_used;
        }
        let mut counted = denials.filter(|finding| finding.exception.is_none());
        if let Some(decisions) = &mut self.releases {
            let denied = counted.clone().filter_map(|f| f.reported.releases);
            let denied = denied.fold(ReleaseSet::default(), ReleaseSet::union);
            let allowed = decisions.evaluated().difference(denied);
            *decisions = ReleaseDecisions { allowed, denied };
        }
        if counted.next().is_none() {
            self.decision = Decision::Allowed;
        }
        is_used
    }

    pub(crate) fn unsuppressed_findings(&self) -> impl Iterator<Item = &LocatedFinding> + Clone {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.exception.is_none())
    }
}

/// Serializes a finding with the rule's help text and page URL.
fn serialize_with_help<S: Serializer>(
    reported: &managed_by::Finding,
    json: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithHelp<'f> {
        #[serde(flatten)]
        reported: &'f managed_by::Finding,
        help: String,
        page: String,
    }
    let rule = reported.rule;
    let (help, page) = (single_line(rule.documentation().fix), rule.page_url());
    WithHelp {
        reported,
        help,
        page,
    }
    .serialize(json)
}

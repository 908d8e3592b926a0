//! The results of a command, before they are printed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use managed_by::{
    Decision, Enforcement, EvaluationResult, ReleaseDecisions, ReleaseSet, ReportedFinding,
    Unchecked, UncheckedReason,
};
use managed_by_offline::Operation;
use managed_by_offline::replay::ObjectRef;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::args::EvaluationArgs;
use crate::counts::{ResultCounts, Totals};
use crate::diagnostic::{Diagnostic, DiagnosticKind, Level, SourceLine, Span};
use crate::exit::ExitStatus;
use crate::format::single_line;

/// Returns the URL of a rule's page.
pub(crate) fn rule_url(id: &str) -> String {
    let pages = "https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/rules";
    format!("{pages}/{id}.md")
}

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

/// The command, as the user types it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReportKind {
    #[default]
    Lint,
    Diff,
    Review,
    Replay,
    #[serde(rename = "settings check")]
    SettingsCheck,
}

impl fmt::Display for ReportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) kind: ReportKind,
    /// True if a warning fails the run like a denial.
    pub(crate) denies_warnings: bool,
    /// Results that are not printed yet.
    pub(crate) results: Vec<RequestResult>,
    /// Counts of the results that are printed already.
    pub(crate) printed: ResultCounts,
    /// Errors, warnings and notes about files and objects.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Unsupported kinds, with the number of objects. The empty name counts documents that are not Kubernetes objects.
    pub(crate) unsupported: BTreeMap<String, u64>,
    /// Objects that only the old side of `diff` contains.
    pub(crate) deleted: Vec<ObjectRef>,
    /// Objects that only the new side of `diff` contains.
    pub(crate) created: Vec<ObjectRef>,
    /// Files that were read; for `diff`, the new files.
    pub(crate) files: Vec<Arc<str>>,
    /// Hints, such as for a misspelled kind, with the first position and the number of occurrences.
    pub(crate) hints: BTreeMap<String, (String, u64)>,
    /// True if the input may contain nothing to evaluate, such as a comparison without changes.
    pub(crate) may_be_empty: bool,
    /// Number of unreadable files that are skipped.
    pub(crate) skipped: usize,
    /// Number of empty inputs that are not reported as errors: files in directories, and with `--allow-empty` all inputs.
    pub(crate) empty: usize,
    /// Values and keys corrected in the files, each with its position, old and new text.
    pub(crate) fixes: Vec<String>,
    /// Changes that `lint --diff` proposes.
    pub(crate) diff: String,
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
    /// Additional note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<&'static str>,
    /// Parts that were not evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unchecked: Vec<Unchecked>,
    /// The user, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The time, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    /// The decision; in JSON as `allowed`, `code` and `message`.
    #[serde(flatten, serialize_with = "serialize_decision")]
    pub(crate) decision: Decision,
    pub(crate) warnings: Vec<String>,
    /// Verdicts per release, if several are evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) releases: Option<ReleaseDecisions>,
    /// Evaluated releases that drop `managedBy` from the object unless their feature gate is enabled.
    #[serde(rename = "droppedBy", skip_serializing_if = "Option::is_none")]
    pub(crate) releases_dropping_managed_by: Option<ReleaseSet>,
    pub(crate) findings: Vec<Finding>,
}

/// A finding and its position in a file.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    #[serde(flatten, serialize_with = "serialize_with_help")]
    pub(crate) reported: ReportedFinding,
    #[serde(flatten)]
    pub(crate) span: Option<Span>,
    #[serde(skip)]
    pub(crate) source: Option<SourceLine>,
    /// Reason why the finding is suppressed, or [`None`] if it is not.
    #[serde(rename = "suppressed", skip_serializing_if = "Option::is_none")]
    pub(crate) suppression: Option<Suppression>,
}

/// Reason why a finding is suppressed. A suppressed finding does not affect the decision or the exit status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub(crate) enum Suppression {
    /// An exception in the object.
    Exception { reason: String },
    /// An entry in the baseline.
    Baseline,
}

/// A finding or a diagnostic in a file, for formats that list them.
pub(crate) struct Annotation<'r> {
    pub(crate) level: Level,
    pub(crate) file: &'r str,
    pub(crate) span: Option<Span>,
    /// Id of the rule or of the kind of diagnostic.
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) suggestion: Option<&'r str>,
    /// The finding with its request; [`None`] for a diagnostic.
    pub(crate) finding: Option<(&'r RequestResult, &'r Finding)>,
}

impl Annotation<'_> {
    pub(crate) fn is_suppressed(&self) -> bool {
        self.finding
            .is_some_and(|(_, finding)| finding.suppression.is_some())
    }
}

impl Finding {
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
    pub(crate) fn releases_of(&self, finding: &Finding) -> Option<String> {
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

    /// Returns the text of a finding, with its releases.
    pub(crate) fn text_of(&self, finding: &Finding) -> String {
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
            "kube-apiserver {releases} drops spec.managedBy if the JobManagedBy feature gate is disabled: the Job is then not delegated, and admission policies don't receive the field"
        ))
    }

    /// Creates a result with the findings of a report.
    pub(crate) fn new(
        file: &Arc<str>,
        object: ObjectRef,
        operation: Operation,
        report: EvaluationResult,
        mut locate: impl FnMut(&ReportedFinding) -> Option<(Span, Option<SourceLine>)>,
    ) -> Self {
        let releases = report.releases();
        let EvaluationResult {
            decision,
            warnings,
            audit_annotations: _,
            findings,
            unchecked,
            release_verdicts: _,
        } = report;
        let findings = findings.into_iter().map(|reported| {
            let (span, source) = locate(&reported).unzip();
            Finding {
                reported,
                span,
                source: source.flatten(),
                suppression: None,
            }
        });
        Self {
            file: Arc::clone(file),
            span: None,
            object,
            operation,
            note: None,
            unchecked,
            user: None,
            time: None,
            findings: findings.collect(),
            decision,
            warnings,
            releases,
            releases_dropping_managed_by: None,
        }
    }

    /// Suppresses findings and updates the decision.
    pub(crate) fn suppress(&mut self, mut reason: impl FnMut(&Finding) -> Option<Suppression>) {
        for finding in self.findings.iter_mut().filter(|f| f.suppression.is_none()) {
            finding.suppression = reason(finding);
        }
        let denials = self.findings.iter().filter(|finding| finding.is_denial());
        if denials.clone().all(|finding| finding.suppression.is_none()) {
            return;
        }
        let mut counted = denials.filter(|finding| finding.suppression.is_none());
        if let Some(decisions) = &mut self.releases {
            let denied = counted.clone().filter_map(|f| f.reported.releases);
            let denied = denied.fold(ReleaseSet::default(), ReleaseSet::union);
            let allowed = decisions.evaluated().difference(denied);
            *decisions = ReleaseDecisions { allowed, denied };
        }
        if counted.next().is_none() {
            self.decision = Decision::Allowed;
        }
    }

    /// Returns the findings that are not suppressed.
    pub(crate) fn unsuppressed_findings(&self) -> impl Iterator<Item = &Finding> + Clone {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.suppression.is_none())
    }
}

impl Report {
    /// Returns the counts of all results, printed or not.
    pub(crate) fn result_counts(&self) -> ResultCounts {
        let mut counts = self.printed.clone();
        for result in &self.results {
            counts.add(result);
        }
        counts
    }

    /// Removes the results, which are printed, but keeps their counts.
    pub(crate) fn clear_results(&mut self) {
        self.printed = self.result_counts();
        self.results.clear();
    }

    pub(crate) fn totals(&self) -> Totals {
        let results = self.result_counts();
        // An object with a field of the wrong type is denied, although no rule can read it.
        let errors = self.diagnostics_with_level(Level::Error);
        let (malformed, errors): (Vec<_>, Vec<_>) =
            errors.partition(|error| error.kind == DiagnosticKind::Malformed);
        Totals {
            evaluated: results.evaluated.saturating_add(malformed.len()),
            denied: results.denied.saturating_add(malformed.len()),
            warned: results.warned,
            errors: errors.len(),
            warnings: self.diagnostics_with_level(Level::Warning).count(),
            suppressed_by_exception: results.suppressed_by_exception,
            suppressed_by_baseline: results.suppressed_by_baseline,
        }
    }

    /// Returns the diagnostics with the given level.
    pub(crate) fn diagnostics_with_level(&self, level: Level) -> impl Iterator<Item = &Diagnostic> {
        let diagnostics = self.diagnostics.iter();
        diagnostics.filter(move |diagnostic| diagnostic.level() == level)
    }

    /// Returns all diagnostics: errors, then warnings, then notes.
    pub(crate) fn sorted_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let levels = [Level::Error, Level::Warning, Level::Note];
        levels
            .into_iter()
            .flat_map(|level| self.diagnostics_with_level(level))
    }

    /// Returns the findings of each result that is not printed yet, each followed by the parts that were not evaluated.
    pub(crate) fn result_annotations(&self) -> impl Iterator<Item = Annotation<'_>> {
        self.results.iter().flat_map(|result| {
            let findings = result.findings.iter().map(move |finding| Annotation {
                level: finding.level(),
                file: &result.file,
                span: finding.span.clone().or_else(|| result.span.clone()),
                id: finding.reported.rule.id().to_owned(),
                text: format!("{}: {}", result.object, result.text_of(finding)),
                suggestion: finding.reported.suggestion.as_deref(),
                finding: Some((result, finding)),
            });
            let unchecked = result.unchecked.iter().map(move |unchecked| Annotation {
                level: unchecked_level(unchecked.reason),
                file: &result.file,
                span: result.span.clone(),
                id: unchecked_id(unchecked.reason),
                text: format!("{}: {unchecked}", result.object),
                suggestion: None,
                finding: None,
            });
            findings.chain(unchecked)
        })
    }

    pub(crate) fn diagnostic_annotations(&self) -> impl Iterator<Item = Annotation<'_>> {
        self.sorted_diagnostics().map(|diagnostic| Annotation {
            level: diagnostic.level(),
            file: &diagnostic.file,
            span: diagnostic.span(),
            id: diagnostic.kind.to_string(),
            text: diagnostic.message.clone(),
            suggestion: diagnostic.suggestion.as_deref(),
            finding: None,
        })
    }

    /// Returns the annotations of all results, then of all diagnostics.
    pub(crate) fn annotations(&self) -> impl Iterator<Item = Annotation<'_>> {
        self.result_annotations()
            .chain(self.diagnostic_annotations())
    }

    pub(crate) fn exit_status(&self, args: &EvaluationArgs) -> ExitStatus {
        let totals = self.totals();
        let is_warned = totals.warned > 0 || totals.warnings > 0;
        let is_denied = totals.denied > 0 || args.deny_warnings && is_warned;
        ExitStatus::first([
            (totals.errors > 0, ExitStatus::Error),
            (is_denied, ExitStatus::Denied),
            (
                self.evaluated_nothing() && !args.allow_empty,
                ExitStatus::NothingEvaluated,
            ),
        ])
    }

    /// Returns true if nothing was evaluated although all input could be read. A comparison with deleted objects is not
    /// empty, although deletions need no verdict.
    pub(crate) fn evaluated_nothing(&self) -> bool {
        let has_results = !self.results.is_empty() || self.printed.evaluated > 0;
        let is_empty = !has_results && self.deleted.is_empty() && !self.may_be_empty;
        is_empty && self.diagnostics_with_level(Level::Error).next().is_none()
    }

    /// Counts a hint and keeps its first position.
    pub(crate) fn add_hint(&mut self, text: String, position: impl FnOnce() -> String) {
        let hint = self.hints.entry(text);
        let (_, count) = hint.or_insert_with(|| (position(), 0));
        *count = count.saturating_add(1);
    }

    /// Applies the arguments about warnings and empty inputs.
    pub(crate) fn configure(&mut self, args: &EvaluationArgs) {
        self.denies_warnings = args.deny_warnings;
        if args.allow_empty {
            let empty = self.remove_diagnostics(DiagnosticKind::Empty);
            self.empty = self.empty.saturating_add(empty);
        }
    }

    /// Removes the diagnostics of the given kind. Returns their number.
    pub(crate) fn remove_diagnostics(&mut self, kind: DiagnosticKind) -> usize {
        let before = self.diagnostics.len();
        self.diagnostics
            .retain(|diagnostic| diagnostic.kind != kind);
        before.saturating_sub(self.diagnostics.len())
    }

    /// Adds a report about other objects, none of which is printed.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.results.append(&mut other.results);
        self.diagnostics.append(&mut other.diagnostics);
        self.deleted.append(&mut other.deleted);
        self.created.append(&mut other.created);
        self.files.append(&mut other.files);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.empty = self.empty.saturating_add(other.empty);
        self.fixes.append(&mut other.fixes);
        self.diff.push_str(&other.diff);
        for (text, (position, count)) in other.hints {
            let (_, total) = self.hints.entry(text).or_insert((position, 0));
            *total = total.saturating_add(count);
        }
        for (kind, count) in other.unsupported {
            self.count_unsupported(kind, count);
        }
    }

    /// Counts objects of an unsupported kind.
    pub(crate) fn count_unsupported(&mut self, kind: String, more: u64) {
        let count = self.unsupported.entry(kind).or_default();
        *count = count.saturating_add(more);
    }
}

/// Serializes `allowed`, and for a denial `code` and `message`.
fn serialize_decision<S: Serializer>(decision: &Decision, json: S) -> Result<S::Ok, S::Error> {
    let mut map = json.serialize_map(None)?;
    map.serialize_entry("allowed", &decision.is_allowed())?;
    if let Decision::Denied { code, message } = decision {
        map.serialize_entry("code", code)?;
        map.serialize_entry("message", message)?;
    }
    map.end()
}

/// Serializes a finding with the rule's help text and page URL.
fn serialize_with_help<S: Serializer>(
    reported: &ReportedFinding,
    json: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithHelp<'f> {
        #[serde(flatten)]
        reported: &'f ReportedFinding,
        help: String,
        page: String,
    }
    let rule = reported.rule;
    let (help, page) = (single_line(rule.documentation().fix), rule_url(rule.id()));
    WithHelp {
        reported,
        help,
        page,
    }
    .serialize(json)
}

//! The results of a command, before they are printed.

use std::collections::BTreeMap;
use std::fmt;

use managed_by_console::diagnostic::{Diagnostic, DiagnosticKind, Level, Span};
use managed_by_console::exit::ExitStatus;
use managed_by_offline::replay::ObjectRef;
use serde::Serialize;

use crate::args::EvaluationArgs;
use crate::counts::ResultCounts;
use crate::result::{LocatedFinding, RequestResult, unchecked_id, unchecked_level};

/// The command, as the user types it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportKind {
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
    pub(crate) finding: Option<(&'r RequestResult, &'r LocatedFinding)>,
}

impl Annotation<'_> {
    pub(crate) fn is_suppressed(&self) -> bool {
        self.finding
            .is_some_and(|(_, finding)| finding.exception.is_some())
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

    /// Returns the counts of all results. An object with a field of the wrong type is denied, although no rule can read it.
    pub(crate) fn totals(&self) -> ResultCounts {
        let mut totals = self.result_counts();
        let errors = self.diagnostics_with_level(Level::Error).count();
        let malformed = errors.saturating_sub(self.errors());
        totals.evaluated = totals.evaluated.saturating_add(malformed);
        totals.denied = totals.denied.saturating_add(malformed);
        totals
    }

    /// Returns the number of objects and files that could not be evaluated.
    pub(crate) fn errors(&self) -> usize {
        let errors = self.diagnostics_with_level(Level::Error);
        let errors = errors.filter(|error| error.kind != DiagnosticKind::Malformed);
        errors.count()
    }

    pub(crate) fn warnings(&self) -> usize {
        self.diagnostics_with_level(Level::Warning).count()
    }

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
        let is_warned = totals.warned > 0 || self.warnings() > 0;
        let is_denied = totals.denied > 0 || args.deny_warnings && is_warned;
        ExitStatus::first([
            (self.errors() > 0, ExitStatus::Error),
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

    pub(crate) fn count_unsupported(&mut self, kind: String, more: u64) {
        let count = self.unsupported.entry(kind).or_default();
        *count = count.saturating_add(more);
    }
}

//! The results of a command, before they are printed.

use std::collections::BTreeMap;
use std::sync::Arc;

use managed_by::{Decision, Enforcement, ReleaseSet, Rule};
use managed_by_offline::replay::ObjectName;
use managed_by_offline::{Asks, Found, Matrix, ObjectReport, Remark};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::args::Judging;
use crate::diagnostic::{self, Diagnostic, Level, Source, Span};
use crate::exit::Exit;
use crate::words::words;

/// URL of the rule pages.
const PAGES: &str = "https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/rules/";

/// Returns the URL of a rule's page.
pub(crate) fn page(rule: &Rule) -> String {
    format!("{PAGES}{}.md", rule.id())
}

/// A command that produces a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    Lint,
    Diff,
    Review,
    Replay,
    SettingsCheck,
}

impl Kind {
    /// Returns the name of the command as the user types it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Diff => "diff",
            Self::Review => "review",
            Self::Replay => "replay",
            Self::SettingsCheck => "settings check",
        }
    }
}

/// The results of a command.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The command.
    pub(crate) kind: Kind,
    /// True if a warning fails the run like a denial.
    pub(crate) denies_warnings: bool,
    /// Evaluated requests.
    pub(crate) results: Vec<Outcome>,
    /// Objects and files that could not be evaluated.
    pub(crate) unjudged: Vec<Diagnostic>,
    /// Unsupported kinds, with the number of objects. The empty name counts documents that are not Kubernetes objects.
    pub(crate) unknown: BTreeMap<String, u64>,
    /// Objects that only the old file of `diff` contains.
    pub(crate) gone: Vec<ObjectName>,
    /// Objects that only the new file of `diff` contains.
    pub(crate) created: Vec<ObjectName>,
    /// Number of unreadable files that are not reported.
    pub(crate) skipped: usize,
    /// Number of values corrected in the files.
    pub(crate) fixed: usize,
    /// Files that were read; for `diff`, the new files.
    pub(crate) files: Vec<Arc<str>>,
    /// Probable mistakes, besides findings.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Additional notes.
    pub(crate) notes: Vec<Diagnostic>,
    /// Number of inputs without a document that are not errors: files in folders, or all inputs.
    pub(crate) empty: usize,
    /// Hints about probably intended objects, with first position and count.
    pub(crate) hints: BTreeMap<String, Hint>,
}

/// The first position and the number of occurrences of a hint.
#[derive(Debug)]
pub(crate) struct Hint {
    /// A file, or a line in a file.
    pub(crate) place: String,
    /// Number of occurrences.
    pub(crate) count: u64,
}

/// An evaluated request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// The file, as the user named it.
    pub(crate) file: Arc<str>,
    /// Position of the object's start.
    #[serde(flatten, serialize_with = "start")]
    pub(crate) place: Option<Span>,
    pub(crate) object: ObjectName,
    /// The operation.
    #[serde(flatten)]
    pub(crate) asks: Asks,
    /// A note besides the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remark: Option<Remark>,
    /// Paths that differ but are not evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unchecked: Vec<String>,
    /// The user, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The time, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    /// The decision; in JSON as `allowed`, `code` and `message`.
    #[serde(flatten, serialize_with = "decision")]
    pub(crate) decision: Decision,
    /// Warnings for the client.
    pub(crate) warnings: Vec<String>,
    /// Verdicts per release, if several are evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) releases: Option<Matrix>,
    /// Evaluated releases that drop `managedBy` from the object unless their feature gate is on.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) dropped_by: ReleaseSet,
    /// Findings of the rules.
    pub(crate) findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    /// The finding and its position in the object.
    #[serde(flatten, serialize_with = "found")]
    pub(crate) found: Found,
    /// Position in the file.
    #[serde(flatten)]
    pub(crate) place: Option<Span>,
    /// The surrounding lines of the file.
    #[serde(skip)]
    pub(crate) source: Option<Source>,
    /// The reason why the finding does not count, if it does not.
    #[serde(rename = "excused", skip_serializing_if = "Option::is_none")]
    pub(crate) excuse: Option<Excuse>,
}

impl Outcome {
    /// Describes the releases with a finding. Returns [`None`] if no release was requested and all releases agree.
    pub(crate) fn releases_of(&self, found: &Found) -> Option<String> {
        match (self.releases, found.releases) {
            (Some(matrix), Some(denied)) if found.enforcement == Enforcement::Deny => {
                let accepted = matrix.asked().without(denied);
                Some(Matrix { accepted, denied }.to_string())
            }
            (Some(matrix), _) => Some(matrix.to_string()),
            (None, Some(releases)) => Some(format!("kube-apiserver {releases} denies it")),
            (None, None) => None,
        }
    }

    /// Returns the text of a finding, including the releases with it if they differ, and the releases that deny it if
    /// several are evaluated.
    pub(crate) fn text_of(&self, found: &Found) -> String {
        let asked = self.releases.map_or_else(ReleaseSet::all, Matrix::asked);
        let is_denied = self.releases.is_some() && found.enforcement == Enforcement::Deny;
        let releases = found.releases.filter(|set| is_denied || *set != asked);
        match (releases, self.releases, found.enforcement) {
            (None, ..) => found.text.clone(),
            (Some(set), Some(_), Enforcement::Warn | Enforcement::Off) => {
                format!("{} (found by {set})", found.text)
            }
            _ => {
                let releases = self.releases_of(found).unwrap_or_default();
                format!("{} ({releases})", found.text)
            }
        }
    }

    /// Formats as `UPDATE of Job.batch team-a/pi (status)`.
    pub(crate) fn asked(&self) -> String {
        let (object, sub) = (&self.object, self.asks.sub_resource());
        let sub = match sub {
            "" => String::new(),
            sub => format!(" ({sub})"),
        };
        match self.asks {
            Asks::Stored => format!("{object}, as it is stored"),
            asks => format!("{} of {object}{sub}", asks.operation()),
        }
    }

    /// Returns a note if any evaluated release drops `managedBy`.
    pub(crate) fn dropped(&self) -> Option<String> {
        (!self.dropped_by.is_empty()).then(|| {
            format!(
                "kube-apiserver {} drops spec.managedBy unless the feature JobManagedBy is on: the Job is not delegated, and no policy sees it",
                self.dropped_by
            )
        })
    }

    /// Creates a result without findings.
    pub(crate) fn new(
        file: &Arc<str>,
        object: ObjectName,
        asks: Asks,
        judgement: ObjectReport,
        mut locate: impl FnMut(&Found) -> Option<(Span, Option<Source>)>,
    ) -> Self {
        let findings = judgement.findings.into_iter().map(|found| {
            let (place, source) = locate(&found).unzip();
            Finding {
                found,
                place,
                source: source.flatten(),
                excuse: None,
            }
        });
        Self {
            file: Arc::clone(file),
            place: None,
            object,
            asks,
            remark: None,
            unchecked: Vec::new(),
            user: None,
            time: None,
            findings: findings.collect(),
            decision: judgement.decision,
            warnings: judgement.warnings,
            releases: judgement.releases,
            dropped_by: ReleaseSet::default(),
        }
    }

    /// Marks excused findings and updates the decision.
    pub(crate) fn excuse(&mut self, mut excuse: impl FnMut(&Finding) -> Option<Excuse>) {
        let findings = self.findings.iter_mut();
        for finding in findings.filter(|finding| finding.excuse.is_none()) {
            finding.excuse = excuse(finding);
        }
        let denials = self.findings.iter();
        let denials = denials.filter(|f| f.found.enforcement == Enforcement::Deny);
        if !denials.clone().any(|finding| finding.excuse.is_some()) {
            return;
        }
        let counted = denials.filter(|finding| finding.excuse.is_none());
        if let Some(matrix) = &mut self.releases {
            let asked = matrix.asked();
            let denied = counted.clone().filter_map(|f| f.found.releases);
            let denied = denied.fold(ReleaseSet::default(), ReleaseSet::union);
            *matrix = Matrix {
                accepted: asked.without(denied),
                denied,
            };
        }
        if counted.count() == 0 {
            self.decision = Decision::Allowed;
        }
    }

    /// Returns the findings that are not excused.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &Finding> + Clone {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.excuse.is_none())
    }

    /// Returns true if the client is warned, or would be by some release.
    pub(crate) fn is_warned(&self) -> bool {
        self.counted()
            .any(|finding| finding.found.enforcement == Enforcement::Warn)
    }
}

/// The reason why a finding does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub(crate) enum Excuse {
    /// An exception in the object.
    Exception { reason: String },
    /// An entry in the baseline.
    Baseline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sums {
    pub(crate) judged: usize,
    /// Denied requests.
    pub(crate) denied: usize,
    /// Requests accepted with a warning.
    pub(crate) warned: usize,
    /// Objects and files that could not be evaluated.
    pub(crate) unjudged: usize,
    /// Objects of unsupported kinds.
    pub(crate) unknown: usize,
    /// Findings excused by an exception in the object.
    pub(crate) excepted: usize,
    /// Findings excused by the baseline.
    pub(crate) baseline: usize,
}

impl Report {
    pub(crate) fn sums(&self) -> Sums {
        let is_allowed = |outcome: &&Outcome| outcome.decision.is_allowed();
        let allowed = self.results.iter().filter(is_allowed);
        let denied = self.results.len().saturating_sub(allowed.clone().count());
        let warned = allowed.filter(|outcome| outcome.is_warned());
        let findings = self.results.iter().flat_map(|r| &r.findings);
        let excuses = findings.filter_map(|finding| finding.excuse.as_ref());
        let unknown = self.unknown.values().copied().fold(0, u64::saturating_add);
        Sums {
            judged: self.results.len(),
            denied,
            warned: warned.count(),
            unjudged: self.unjudged.len(),
            unknown: usize::try_from(unknown).unwrap_or(usize::MAX),
            excepted: excuses.clone().filter(|e| **e != Excuse::Baseline).count(),
            baseline: excuses.filter(|e| **e == Excuse::Baseline).count(),
        }
    }

    /// Returns all diagnostics: errors, then warnings, then notes.
    pub(crate) fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let all = self.unjudged.iter().chain(&self.warnings);
        all.chain(&self.notes)
    }

    /// Returns the exit status of the run.
    pub(crate) fn exit(&self, judging: &Judging) -> Exit {
        let sums = self.sums();
        let is_warned = sums.warned > 0 || !self.warnings.is_empty();
        Exit::first([
            (sums.unjudged > 0, Exit::Unjudged),
            (
                sums.denied > 0 || judging.deny_warnings && is_warned,
                Exit::Denied,
            ),
            (self.is_nothing() && !judging.allow_empty, Exit::Nothing),
        ])
    }

    /// Returns true if nothing was evaluated although all input could be read. Deleted objects do not count, because they
    /// need no verdict.
    pub(crate) fn is_nothing(&self) -> bool {
        self.results.is_empty() && self.unjudged.is_empty() && self.gone.is_empty()
    }

    /// Counts a hint and keeps its first position.
    pub(crate) fn hint(&mut self, text: String, place: impl FnOnce() -> String) {
        let hint = self.hints.entry(text).or_insert_with(|| Hint {
            place: place(),
            count: 0,
        });
        hint.count = hint.count.saturating_add(1);
    }

    /// Adds a diagnostic to the list for its level.
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        match diagnostic.kind.level() {
            Level::Error => self.unjudged.push(diagnostic),
            Level::Warning => self.warnings.push(diagnostic),
            Level::Note => self.notes.push(diagnostic),
        }
    }

    /// Applies the arguments: whether warnings deny, and whether inputs may be empty.
    pub(crate) fn judge_by(&mut self, judging: &Judging) {
        self.denies_warnings = judging.deny_warnings;
        if judging.allow_empty {
            let empty = self.forgive(diagnostic::Kind::Empty);
            self.empty = self.empty.saturating_add(empty);
        }
    }

    /// Counts errors of a kind instead of reporting them. Returns their number.
    pub(crate) fn forgive(&mut self, kind: diagnostic::Kind) -> usize {
        let before = self.unjudged.len();
        self.unjudged.retain(|unjudged| unjudged.kind != kind);
        before.saturating_sub(self.unjudged.len())
    }

    /// Appends another report.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.results.append(&mut other.results);
        self.unjudged.append(&mut other.unjudged);
        self.gone.append(&mut other.gone);
        self.created.append(&mut other.created);
        self.files.append(&mut other.files);
        self.warnings.append(&mut other.warnings);
        self.notes.append(&mut other.notes);
        self.empty = self.empty.saturating_add(other.empty);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.fixed = self.fixed.saturating_add(other.fixed);
        for (text, hint) in other.hints {
            let count = hint.count;
            let known = self.hints.entry(text).or_insert(Hint { count: 0, ..hint });
            known.count = known.count.saturating_add(count);
        }
        for (kind, count) in other.unknown {
            self.count_unknown(kind, count);
        }
    }

    /// Counts objects of an unsupported kind.
    pub(crate) fn count_unknown(&mut self, kind: String, more: u64) {
        let count = self.unknown.entry(kind).or_default();
        *count = count.saturating_add(more);
    }
}

/// Serializes the start position of an object.
#[expect(clippy::ref_option, reason = "serde hands out references")]
fn start<S: Serializer>(place: &Option<Span>, json: S) -> Result<S::Ok, S::Error> {
    let place = place.iter();
    json.collect_map(place.flat_map(|place| [("line", place.line), ("column", place.column)]))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_none(set: &ReleaseSet) -> bool {
    set.is_empty()
}

/// Serializes `allowed`, and for a denial `code` and `message`.
fn decision<S: Serializer>(decision: &Decision, json: S) -> Result<S::Ok, S::Error> {
    let mut map = json.serialize_map(None)?;
    map.serialize_entry("allowed", &decision.is_allowed())?;
    if let Decision::Denied { code, message } = decision {
        map.serialize_entry("code", code)?;
        map.serialize_entry("message", message)?;
    }
    map.end()
}

/// Serializes a finding with its remedy.
fn found<S: Serializer>(found: &Found, json: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Told<'f> {
        #[serde(flatten)]
        found: &'f Found,
        help: String,
        page: String,
    }
    let help = words(found.rule.documentation().fix);
    let page = page(found.rule);
    Told { found, help, page }.serialize(json)
}

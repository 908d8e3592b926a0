//! What a command found, before it is printed.

use std::collections::BTreeMap;
use std::sync::Arc;

use managed_by::{Decision, Enforcement, ReleaseSet, Rule};
use managed_by_offline::Remark;
use managed_by_offline::replay::ObjectName;
use managed_by_offline::{Asks, Document, Found, Judgement, Located, MalformedText, Matrix, Path};
use serde::Serialize;

use crate::Exit;
use crate::args::Judging;
use crate::excuse::Excuse;
use crate::output::json;

/// Where the pages of the rules are.
const PAGES: &str = "https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/rules/";

/// The page of a rule.
pub(crate) fn page(rule: &Rule) -> String {
    format!("{PAGES}{}.md", rule.id())
}

/// What a command found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What was judged.
    pub(crate) results: Vec<Outcome>,
    /// What could not be judged.
    pub(crate) unjudged: Vec<Complaint>,
    /// Kinds that the library does not know, with the number of objects. The empty name counts documents that are not objects of Kubernetes.
    pub(crate) unknown: BTreeMap<String, u64>,
    /// Objects that only the old file of `diff` has.
    pub(crate) gone: Vec<ObjectName>,
    /// Objects that only the new file of `diff` has.
    pub(crate) created: Vec<ObjectName>,
    /// What could not be read, and was not to be told.
    pub(crate) skipped: usize,
    /// Values that were corrected in the files.
    pub(crate) fixed: usize,
    /// The files that were read, of `diff` the new ones.
    pub(crate) files: Vec<Arc<str>>,
    /// Exceptions and lines of a baseline that nothing is found for, each at its place.
    pub(crate) stale: Vec<Complaint>,
    /// What somebody probably meant, where it was seen first, and how often.
    pub(crate) hints: BTreeMap<String, Hint>,
}

/// Where something was seen that is not judged, and how often.
#[derive(Debug)]
pub(crate) struct Hint {
    /// The place: a file, or a line of it.
    pub(crate) place: String,
    /// How often.
    pub(crate) count: u64,
}

/// A request that was judged.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// The file, as the user named it.
    pub(crate) file: Arc<str>,
    /// Where the object begins.
    #[serde(flatten, serialize_with = "json::start")]
    pub(crate) place: Option<Span>,
    pub(crate) object: ObjectName,
    /// What was asked for.
    #[serde(flatten)]
    pub(crate) asks: Asks,
    /// What there is to say of it beside the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remark: Option<Remark>,
    /// The paths of what differs and is not judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unchecked: Vec<String>,
    /// Who asked, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// When, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    /// The decision on the request; in JSON as `allowed`, `code` and `message`.
    #[serde(flatten, serialize_with = "json::decision")]
    pub(crate) decision: Decision,
    /// Shown to the client.
    pub(crate) warnings: Vec<String>,
    /// What each release says, where all are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) releases: Option<Matrix>,
    /// The releases that drop `managedBy` from the object unless their feature is on, of those that are asked.
    #[serde(skip_serializing_if = "json::is_none")]
    pub(crate) dropped_by: ReleaseSet,
    /// What the rules found.
    pub(crate) findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    /// What and where in the object.
    #[serde(flatten, serialize_with = "json::found")]
    pub(crate) found: Found,
    /// Where in the file.
    #[serde(flatten)]
    pub(crate) place: Option<Span>,
    /// The lines of the file around it.
    #[serde(skip)]
    pub(crate) source: Option<Source>,
    /// Why it does not count, if it does not.
    #[serde(rename = "excused", skip_serializing_if = "Option::is_none")]
    pub(crate) excuse: Option<Excuse>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Span {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// The last line.
    pub(crate) end_line: usize,
    /// The column behind the last character.
    pub(crate) end_column: usize,
}

/// Lines of a file, with something to show in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// The number of the first.
    pub(crate) first_line: usize,
    /// The bytes to show.
    pub(crate) span: std::ops::Range<usize>,
}

/// What could not be judged.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Complaint {
    /// The file, as the user named it.
    pub(crate) file: Arc<str>,
    /// The line, from 1; 0 where it is the whole file.
    pub(crate) line: usize,
    /// The column, from 1; 0 where it is the whole line.
    pub(crate) column: usize,
    /// Why, in one line.
    pub(crate) text: String,
    /// In settings, the word that was probably meant; the text names it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suggestion: Option<String>,
    /// Whether it is neither YAML nor JSON.
    #[serde(skip)]
    pub(crate) is_unreadable: bool,
    /// The lines of the file around it.
    #[serde(skip)]
    pub(crate) source: Option<Box<Source>>,
}

/// The longest line that is shown as it is.
const MAX_SHOWN_LINE: usize = 400;

impl Span {
    /// The place of some bytes of a text.
    fn of(text: &str, span: &std::ops::Range<usize>, line: usize, column: usize) -> Self {
        let shown = text.get(span.clone()).unwrap_or_default();
        let shown = shown.trim_end();
        let breaks = shown.matches('\n').count();
        let last = shown.rsplit('\n').next().unwrap_or_default();
        let width = last.chars().count();
        Self {
            line,
            column,
            end_line: line.saturating_add(breaks),
            end_column: match breaks {
                0 => column.saturating_add(width),
                _ => width.saturating_add(1),
            },
        }
    }
}

/// The place of a path in a document, and the line to show.
pub(crate) fn place(text: &str, document: &Document<'_>, path: &Path) -> (Span, Option<Source>) {
    of_located(text, &document.locate(path))
}

/// The place of the key at a path, and the line to show.
pub(crate) fn key_place(
    text: &str,
    document: &Document<'_>,
    path: &Path,
) -> (Span, Option<Source>) {
    of_located(text, &document.locate_key(path))
}

/// The place of some bytes of a text, and the line to show. It counts from the start of the text.
pub(crate) fn place_of(text: &str, span: &std::ops::Range<usize>) -> (Span, Option<Source>) {
    let before = text.get(..span.start).unwrap_or_default();
    let line = before.matches('\n').count().saturating_add(1);
    let last = before.rsplit('\n').next().unwrap_or_default();
    let column = last.chars().count().saturating_add(1);
    let place = Span::of(text, span, line, column);
    (place, source(text, line, span))
}

fn of_located(text: &str, located: &Located) -> (Span, Option<Source>) {
    let place = Span::of(text, &located.span, located.line, located.column);
    let source = source(text, located.line, &located.span);
    (place, source)
}

/// The line of a file that holds a place, unless it is too long to be read. No more of the file is looked at than can be shown.
fn source(text: &str, line: usize, span: &std::ops::Range<usize>) -> Option<Source> {
    let before = text.get(..span.start)?;
    let earliest = before.floor_char_boundary(before.len().saturating_sub(MAX_SHOWN_LINE));
    let start = match before.get(earliest..)?.rfind('\n') {
        Some(at) => earliest.saturating_add(at).saturating_add(1),
        None if earliest == 0 => 0,
        None => return None,
    };
    let rest = text.get(start..)?;
    let latest = rest.floor_char_boundary(MAX_SHOWN_LINE.saturating_add(1));
    let shown = rest.get(..latest)?.split(['\n', '\r']).next()?;
    if shown.len() > MAX_SHOWN_LINE {
        return None;
    }
    let from = span.start.saturating_sub(start);
    let to = span.end.saturating_sub(start).min(shown.len());
    let to = shown.get(..to).map_or(to, |shown| shown.trim_end().len());
    Some(Source {
        text: shown.to_owned(),
        first_line: line,
        span: from..to.max(from),
    })
}

impl Complaint {
    /// What is malformed in a file.
    pub(crate) fn new(file: &Arc<str>, malformed: MalformedText) -> Self {
        Self {
            file: Arc::clone(file),
            line: malformed.line,
            column: malformed.column,
            text: malformed.text,
            suggestion: None,
            is_unreadable: false,
            source: None,
        }
    }

    /// The same of a file that is neither YAML nor JSON.
    pub(crate) fn unreadable(file: &Arc<str>, malformed: MalformedText) -> Self {
        Self {
            is_unreadable: true,
            ..Self::new(file, malformed)
        }
    }

    /// What is malformed at a place of a file.
    pub(crate) fn at(file: &Arc<str>, place: &Span, source: Option<Source>, text: String) -> Self {
        Self {
            file: Arc::clone(file),
            line: place.line,
            column: place.column,
            text,
            suggestion: None,
            is_unreadable: false,
            source: source.map(Box::new),
        }
    }

    /// The place in the file, if it is not the whole file. It is as wide as what is shown of its line.
    pub(crate) fn shown(&self) -> Option<Span> {
        let source = self.source.as_ref();
        let shown = source.and_then(|source| source.text.get(source.span.clone()));
        let column = self.column.max(1);
        (self.line > 0).then(|| Span {
            line: self.line,
            column,
            end_line: self.line,
            end_column: column.saturating_add(shown.map_or(0, |shown| shown.chars().count())),
        })
    }

    /// `jobs.yaml:3:5`
    pub(crate) fn place(&self) -> String {
        match (self.line, self.column) {
            (0, _) => self.file.to_string(),
            (line, 0) => format!("{}:{line}", self.file),
            (line, column) => format!("{}:{line}:{column}", self.file),
        }
    }
}

impl Outcome {
    /// What the releases say to the request, as far as one finding goes; nothing where no release was asked and all say the same.
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

    /// The text of a finding, which says which releases find it where not all do, and which deny where several are asked.
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

    /// `UPDATE of Job.batch team-a/pi (status)`
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

    /// That releases drop `managedBy`, if any does that is asked.
    pub(crate) fn dropped(&self) -> Option<String> {
        (!self.dropped_by.is_empty()).then(|| {
            format!(
                "kube-apiserver {} drops spec.managedBy unless the feature JobManagedBy is on: the Job is not delegated, and no policy sees it",
                self.dropped_by
            )
        })
    }

    /// A request on an object, with nothing said about it.
    pub(crate) fn new(
        file: &Arc<str>,
        object: ObjectName,
        asks: Asks,
        judgement: Judgement,
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

    /// The findings that nothing excuses.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &Finding> + Clone {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.excuse.is_none())
    }

    /// Whether the client is warned, or would be by some release.
    pub(crate) fn is_warned(&self) -> bool {
        self.counted()
            .any(|finding| finding.found.enforcement == Enforcement::Warn)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sums {
    pub(crate) judged: usize,
    /// Those that were denied.
    pub(crate) denied: usize,
    /// Those that were accepted with a warning.
    pub(crate) warned: usize,
    /// What could not be judged.
    pub(crate) unjudged: usize,
    /// Objects of kinds that the library does not know.
    pub(crate) unknown: usize,
    /// Findings that an exception of their object excuses.
    pub(crate) excepted: usize,
    /// Those that the baseline does.
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

    pub(crate) fn exit(&self, judging: &Judging) -> Exit {
        let sums = self.sums();
        let is_warned = sums.warned > 0 || !self.stale.is_empty();
        Exit::of(
            sums.unjudged > 0,
            sums.denied > 0 || judging.deny_warnings && is_warned,
            self.is_nothing() && !judging.allow_empty,
        )
    }

    /// Whether nothing was judged, although everything could be read. Deleted objects need no verdict, so they do not count.
    pub(crate) fn is_nothing(&self) -> bool {
        self.results.is_empty() && self.unjudged.is_empty() && self.gone.is_empty()
    }

    /// Keeps what somebody probably meant.
    pub(crate) fn hint(&mut self, text: String, place: impl FnOnce() -> String) {
        let hint = self.hints.entry(text).or_insert_with(|| Hint {
            place: place(),
            count: 0,
        });
        hint.count = hint.count.saturating_add(1);
    }

    /// Counts what could not be read, rather than to tell it.
    pub(crate) fn skip_unreadable(&mut self) {
        let before = self.unjudged.len();
        self.unjudged.retain(|unjudged| !unjudged.is_unreadable);
        let skipped = before.saturating_sub(self.unjudged.len());
        self.skipped = self.skipped.saturating_add(skipped);
    }

    /// Adds what another one found, behind what this one did.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.results.append(&mut other.results);
        self.unjudged.append(&mut other.unjudged);
        self.gone.append(&mut other.gone);
        self.created.append(&mut other.created);
        self.files.append(&mut other.files);
        self.stale.append(&mut other.stale);
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

    /// Counts objects of a kind that the library does not know.
    pub(crate) fn count_unknown(&mut self, kind: String, more: u64) {
        let count = self.unknown.entry(kind).or_default();
        *count = count.saturating_add(more);
    }
}

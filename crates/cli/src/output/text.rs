//! Human-readable output.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use managed_by::ReleaseSet;
use managed_by_offline::RecordPosition;

use super::plain::{plain, plain_line};
use super::table::table;
use crate::diagnostic::{self, Diagnostic, Source, Span};
use crate::format::{count_of, counts, number, single_line};
use crate::hint;
use crate::recording::ReplaySummary;
use crate::report::{Finding, Outcome, Report};

pub(crate) fn outcome(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    for finding in outcome.unsuppressed_findings() {
        writeln!(out, "{}\n", self::finding(outcome, finding))?;
    }
    let mut paragraphs: Vec<(Level<'_>, String)> = Vec::new();
    // A denial or warning without a rule: an exemption, or an unsupported kind.
    if outcome.findings.is_empty() {
        if let Some(message) = outcome.decision.message() {
            paragraphs.push((Level::ERROR, message.to_owned()));
        } else {
            let warnings = outcome.warnings.iter();
            paragraphs.extend(warnings.map(|text| (Level::WARNING, text.clone())));
        }
        // Notes alone get a paragraph only if there is nothing else.
        if let Some(remark) = outcome.remark.filter(|_| !outcome.operation.is_stored()) {
            paragraphs.push((Level::NOTE, remark.to_owned()));
        }
    }
    if !outcome.unchecked.is_empty() {
        let paths = outcome.unchecked.join(", ");
        let text = format!("{paths}: not checked, kube-apiserver may reject the change");
        paragraphs.push((Level::NOTE, text));
    }
    for (level, text) in paragraphs {
        let title = level.primary_title(plain(&text));
        let group = with_request(title.element(origin(outcome, None)), outcome);
        writeln!(out, "{}\n", Renderer::styled().render(&[group]))?;
    }
    Ok(())
}

fn level(level: diagnostic::Level) -> Level<'static> {
    match level {
        diagnostic::Level::Error => Level::ERROR,
        diagnostic::Level::Warning => Level::WARNING,
        diagnostic::Level::Note => Level::NOTE,
    }
}

fn finding(outcome: &Outcome, finding: &Finding) -> String {
    let reported = &finding.reported;
    let title = level(finding.level()).primary_title(plain(&reported.message));
    let title = title.id(reported.rule.id());
    let group = match (&finding.source, &finding.span) {
        (Some(source), Some(span)) => title.element(snippet(&outcome.file, span.line, source)),
        (_, span) => title.element(origin(outcome, span.as_ref())),
    };
    let mut group = with_request(group, outcome);
    for note in [outcome.releases_of(finding), outcome.dropped_field_note()] {
        group = group.elements(note.map(|note| Level::NOTE.message(note)));
    }
    let fix = single_line(reported.rule.documentation().fix);
    let group = group.element(Level::HELP.message(fix));
    Renderer::styled().render(&[group])
}

/// Adds the request, its user and its time.
fn with_request<'g>(group: Group<'g>, outcome: &Outcome) -> Group<'g> {
    let is_stored = outcome.operation.is_stored();
    let preposition = if is_stored { "since" } else { "at" };
    // Stored objects have no user.
    let user = outcome.user.as_ref().map(|user| format!(" by {user}"));
    let time = outcome
        .time
        .as_ref()
        .map(|time| format!(" {preposition} {time}"));
    let request = outcome.request() + &user.unwrap_or_default() + &time.unwrap_or_default();
    let group = group.element(Level::NOTE.message(plain(&request).into_owned()));
    match outcome.remark {
        Some(remark) if !is_stored && !outcome.findings.is_empty() => {
            group.element(Level::NOTE.message(remark))
        }
        _ => group,
    }
}

fn origin(outcome: &Outcome, span: Option<&Span>) -> Origin<'static> {
    let origin = Origin::path(plain(&outcome.file).into_owned());
    match span.or(outcome.span.as_ref()) {
        Some(span) => origin.line(span.line).char_column(span.column),
        None => origin,
    }
}

fn snippet<'s>(file: &'s str, line: usize, source: &'s Source) -> Snippet<'s, Annotation<'s>> {
    Snippet::source(plain_line(&source.text))
        .line_start(line)
        .path(plain(file))
        .annotation(AnnotationKind::Primary.span(source.span.clone()))
}

/// Formats a diagnostic, with the line of the file if it is known.
pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> String {
    let text = plain(&diagnostic.text);
    let Some(source) = &diagnostic.source else {
        let (level, position) = (diagnostic.level(), diagnostic.position());
        return format!("{level}: {}: {text}\n", plain(&position));
    };
    let snippet = snippet(&diagnostic.file, diagnostic.line, source);
    let group = level(diagnostic.level())
        .primary_title(text)
        .element(snippet);
    format!("{}\n\n", Renderer::styled().render(&[group]))
}

pub(crate) fn totals(report: &Report) -> String {
    let totals = report.totals();
    let evaluated = count_of(totals.evaluated, "object");
    let (denied, warned) = (number(totals.denied), number(totals.warned));
    let unsupported = report.unsupported.values().copied();
    let warnings = match totals.warnings {
        1 => "other warning",
        _ => "other warnings",
    };
    let others = counts(&[
        (size(totals.errors), "could not be evaluated"),
        (unsupported.fold(0, u64::saturating_add), "of other kinds"),
        (size(report.skipped), SKIPPED),
        (size(report.empty), "empty"),
        (size(report.deleted.len()), "deleted"),
        (size(totals.warnings), warnings),
    ]);
    let suppressed = suppressed(report);
    format!("{evaluated} evaluated: {denied} denied, {warned} with warnings{others}{suppressed}")
}

/// The label for unreadable files that are not reported.
const SKIPPED: &str = "unreadable and skipped";

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Formats the numbers of suppressed and fixed findings, if any.
pub(crate) fn suppressed(report: &Report) -> String {
    let totals = report.totals();
    counts(&[
        (totals.by_exception, "excepted"),
        (totals.baseline, "in the baseline"),
        (report.fixed, "fixed"),
    ])
}

/// Lists the objects that only one of two files contains, one per line.
pub(crate) fn created_and_deleted(report: &Report) -> String {
    let created = report.created.iter().map(|object| ("created", object));
    let deleted = report.deleted.iter().map(|object| ("deleted", object));
    let lines = created.chain(deleted);
    let lines = lines.map(|(change, name)| format!("{change}: {}\n", plain(&name.to_string())));
    lines.collect()
}

/// Formats hints about objects that are not evaluated.
pub(crate) fn hints(report: &Report) -> String {
    let hints = report.hints.iter().map(|(hint, (position, count))| {
        let (position, hint, times) = (plain(position), plain(hint), times(*count));
        format!("help: {position}: {hint}{times}\n")
    });
    hints.collect()
}

/// Formats a note about objects without other results whose `managedBy` is dropped.
pub(crate) fn dropped_field_note(report: &Report) -> String {
    let without_findings = report.results.iter().filter(|r| r.findings.is_empty());
    let mut dropped =
        without_findings.filter_map(|outcome| Some((outcome, outcome.dropped_field_note()?)));
    let Some((first, text)) = dropped.next() else {
        return String::new();
    };
    let line = first.span.as_ref().map(|span| format!(":{}", span.line));
    let position = format!("{}{}", first.file, line.unwrap_or_default());
    let times = times(size(dropped.count()).saturating_add(1));
    format!("note: {}: {text}{times}\n", plain(&position))
}

/// Formats a number of occurrences greater than one.
fn times(count: u64) -> String {
    match count {
        1 => String::new(),
        count => format!(" ({} times)", number(count)),
    }
}

/// Formats hints about the kinds in a recording, without versions.
pub(crate) fn hints_for_kinds(summary: &ReplaySummary) -> String {
    let hints = summary
        .tally
        .unsupported
        .iter()
        .filter_map(|(name, count)| {
            let (kind, group) = name.split_once('.').unwrap_or((name, ""));
            let hint = hint::for_kind(group, None, kind)?;
            Some(format!("help: {}{}\n", plain(&hint), times(*count)))
        });
    hints.collect()
}

/// Formats a message that nothing was evaluated, with the input found.
pub(crate) fn nothing(unsupported: &BTreeMap<String, u64>, skipped: usize) -> String {
    let kinds = unsupported.iter().map(|(kind, count)| match &**kind {
        "" => format!("a document without `kind`{}", times(*count)),
        kind => format!("{}{}", plain(kind), times(*count)),
    });
    let kinds: Vec<_> = kinds.collect();
    let found = if kinds.is_empty() {
        String::new()
    } else {
        format!(", found only {}", kinds.join(", "))
    };
    let skipped = counts(&[(skipped, SKIPPED)]);
    format!("nothing was evaluated{found}{skipped}; `managed-by kinds` lists the supported kinds")
}

/// Prints the table of a replay, and the steps to show in full.
pub(crate) fn write_replay(out: &mut impl Write, summary: &ReplaySummary) -> io::Result<()> {
    for shown in &summary.shown {
        outcome(out, shown)?;
    }
    if summary.tally.rows.is_empty() {
        return Ok(());
    }
    let rows = summary.tally.rows.iter().map(|(key, row)| {
        let action = match (key.is_stored, key.is_denied) {
            (true, _) => "stored",
            (false, true) => "deny",
            (false, false) => "warn",
        };
        let releases = match (row.releases, summary.release) {
            (Some(releases), _) if releases != ReleaseSet::all() => releases.to_string(),
            (_, Some(release)) => release.to_string(),
            _ => "all".to_owned(),
        };
        [
            key.kind.clone(),
            key.rule.to_owned(),
            action.to_owned(),
            releases,
            number(row.count).to_string(),
            position(&row.first, summary),
            position(&row.last, summary),
            row.object.namespaced_name(),
            row.user.clone().unwrap_or_else(|| "-".to_owned()),
        ]
        .map(|cell| plain(&cell).into_owned())
    });
    let head = [
        "KIND",
        "RULE",
        "ACTION",
        "RELEASES",
        "COUNT",
        "FIRST",
        "LAST",
        "FIRST OBJECT",
        "USER",
    ];
    write!(out, "{}", table(head, rows))
}

/// Formats the time of a record, or its position if there is none.
fn position(position: &RecordPosition, summary: &ReplaySummary) -> String {
    position.time.clone().unwrap_or_else(|| {
        let file = summary.files.get(position.source);
        let name = file.and_then(|file| file.rsplit('/').next());
        format!("{}:{}", name.unwrap_or_default(), position.line)
    })
}

pub(crate) fn replay_totals(summary: &ReplaySummary) -> String {
    let tally = &summary.tally;
    let mut text = format!(
        "{}, {} evaluated: {} denied, {} with warnings",
        count_of(tally.documents, "document"),
        count_of(tally.evaluated, "request"),
        number(tally.denied),
        number(tally.warned)
    );
    if tally.stored > 0 {
        let stored = count_of(tally.stored, "stored object");
        let with_findings = number(tally.stored_with_findings);
        let _ = write!(text, "; {stored}, {with_findings} with findings");
    }
    let unsupported = tally.unsupported.values().copied();
    text + &counts(&[
        (tally.skipped_count(), "could not be evaluated"),
        (tally.rejected, "rejected by the API server"),
        (unsupported.fold(0, u64::saturating_add), "of other kinds"),
    ])
}

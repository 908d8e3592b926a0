//! Human-readable output.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use annotate_snippets::{Group, Level, Origin, Renderer};
use managed_by::ReleaseSet;
use managed_by_console::diagnostic::Span;
use managed_by_console::escape::escape_control;
use managed_by_console::format::{counts, number, pluralize, single_line};
use managed_by_console::print::{level, snippet};
use managed_by_console::table::table;
use managed_by_offline::RecordPosition;

use crate::hint;
use crate::recording::ReplaySummary;
use crate::report::Report;
use crate::result::{LocatedFinding, RequestResult};

pub(crate) fn write_results(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut results = report.results.iter();
    results.try_for_each(|result| write_result(out, result))
}

pub(crate) fn write_result(out: &mut impl Write, result: &RequestResult) -> io::Result<()> {
    for finding in result.unsuppressed_findings() {
        writeln!(out, "{}\n", render_finding(result, finding))?;
    }
    let mut paragraphs: Vec<(Level<'_>, String)> = Vec::new();
    // A denial or warning without a rule: an exemption, or an unsupported kind.
    if result.findings.is_empty() {
        if let Some(message) = result.decision.message() {
            paragraphs.push((Level::ERROR, message.to_owned()));
        } else {
            let warnings = result.warnings.iter();
            paragraphs.extend(warnings.map(|text| (Level::WARNING, text.clone())));
        }
        // If there are findings, `with_request` adds the note to them.
        if let Some(note) = result.note.filter(|_| !result.operation.is_stored()) {
            paragraphs.push((Level::NOTE, note.to_owned()));
        }
    }
    let unchecked = result.unchecked_texts();
    paragraphs.extend(unchecked.map(|(of_part, text)| (level(of_part), text)));
    for (level, text) in paragraphs {
        let title = level.primary_title(escape_control(&text));
        let group = with_request(title.element(origin(result, None)), result);
        writeln!(out, "{}\n", Renderer::styled().render(&[group]))?;
    }
    Ok(())
}

fn render_finding(result: &RequestResult, finding: &LocatedFinding) -> String {
    let reported = &finding.reported;
    let title = level(finding.level()).primary_title(escape_control(&reported.message));
    let title = title.id(reported.rule.id());
    let group = match (&finding.source, &finding.span) {
        (Some(source), Some(span)) => title.element(snippet(&result.file, span.line, source)),
        (_, span) => title.element(origin(result, span.as_ref())),
    };
    let mut group = with_request(group, result);
    for note in [result.releases_of(finding), result.dropped_field_note()] {
        group = group.elements(note.map(|note| Level::NOTE.message(note)));
    }
    let fix = single_line(reported.rule.documentation().fix);
    let group = group.element(Level::HELP.message(fix));
    Renderer::styled().render(&[group])
}

/// Adds the request, its user and its time.
fn with_request<'g>(group: Group<'g>, result: &RequestResult) -> Group<'g> {
    let is_stored = result.operation.is_stored();
    let preposition = if is_stored { "since" } else { "at" };
    // Stored objects have no user.
    let user = result.user.as_ref().map(|user| format!(" by {user}"));
    let time = result
        .time
        .as_ref()
        .map(|time| format!(" {preposition} {time}"));
    let request = result.describe_request() + &user.unwrap_or_default() + &time.unwrap_or_default();
    let group = group.element(Level::NOTE.message(escape_control(&request).into_owned()));
    match result.note {
        Some(note) if !is_stored && !result.findings.is_empty() => {
            group.element(Level::NOTE.message(note))
        }
        _ => group,
    }
}

fn origin(result: &RequestResult, span: Option<&Span>) -> Origin<'static> {
    let origin = Origin::path(escape_control(&result.file).into_owned());
    match span.or(result.span.as_ref()) {
        Some(span) => origin.line(span.line).char_column(span.column),
        None => origin,
    }
}

pub(crate) fn totals(report: &Report) -> String {
    let totals = report.totals();
    let evaluated = pluralize(totals.evaluated, "object");
    let (denied, warned) = (number(totals.denied), number(totals.warned));
    let unsupported = report.unsupported.values().copied();
    let warnings = match report.warnings() {
        1 => "other warning",
        _ => "other warnings",
    };
    let others = counts(&[
        (to_u64(report.errors()), "could not be evaluated"),
        (unsupported.fold(0, u64::saturating_add), "of other kinds"),
        (to_u64(report.skipped), SKIPPED),
        (to_u64(report.empty), "empty"),
        (to_u64(report.deleted.len()), "deleted"),
        (to_u64(report.warnings()), warnings),
    ]);
    let suppressed = suppressed_counts(report);
    format!("{evaluated} evaluated: {denied} denied, {warned} with warnings{others}{suppressed}")
}

/// The label for unreadable files that are not reported.
const SKIPPED: &str = "unreadable and skipped";

const REJECTED: &str = "rejected by the API server";

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Formats the numbers of suppressed and fixed findings, if any.
pub(crate) fn suppressed_counts(report: &Report) -> String {
    counts(&[
        (report.totals().excepted, "suppressed by exceptions"),
        (report.fixes.len(), "fixed"),
    ])
}

/// Lists the created and deleted objects, one per line.
pub(crate) fn created_and_deleted(report: &Report) -> String {
    let created = report.created.iter().map(|object| ("created", object));
    let deleted = report.deleted.iter().map(|object| ("deleted", object));
    let lines = created.chain(deleted);
    let lines =
        lines.map(|(change, name)| format!("{change}: {}\n", escape_control(&name.to_string())));
    lines.collect()
}

/// Formats hints about objects that are not evaluated.
pub(crate) fn hints(report: &Report) -> String {
    let hints = report.hints.iter().map(|(hint, (position, count))| {
        let (position, hint, times) = (
            escape_control(position),
            escape_control(hint),
            times(*count),
        );
        format!("help: {position}: {hint}{times}\n")
    });
    hints.collect()
}

/// Formats a note about objects without findings whose `managedBy` the API server drops.
pub(crate) fn dropped_field_note(report: &Report) -> String {
    let Some((position, text, count)) = report.result_counts().dropped_field else {
        return String::new();
    };
    let times = times(count);
    format!("note: {}: {text}{times}\n", escape_control(&position))
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
            let warning =
                hint::for_version(group, None, kind).or_else(|| hint::for_typo(group, kind));
            let label = warning.as_ref().map_or("help", |_| "warning");
            let hint = warning.or_else(|| hint::for_command(group, kind))?;
            Some(format!(
                "{label}: {}{}\n",
                escape_control(&hint),
                times(*count)
            ))
        });
    hints.collect()
}

/// Maximum number of unsupported kinds that a message lists.
const MAX_KINDS: usize = 8;

/// Formats the message that nothing in the files of a report was evaluated.
pub(crate) fn nothing_evaluated(report: &Report) -> String {
    nothing_evaluated_message(&report.unsupported, (to_u64(report.skipped), SKIPPED))
}

/// Formats the message that nothing in a recording was evaluated.
pub(crate) fn nothing_replayed(summary: &ReplaySummary) -> String {
    let tally = &summary.tally;
    nothing_evaluated_message(&tally.unsupported, (tally.rejected, REJECTED))
}

/// Formats the message that nothing was evaluated, with the kinds that the input contains, and another count.
fn nothing_evaluated_message(unsupported: &BTreeMap<String, u64>, other: (u64, &str)) -> String {
    let kinds = unsupported.iter().map(|(kind, count)| match &**kind {
        "" => format!("a document without `kind`{}", times(*count)),
        kind => format!("{}{}", escape_control(kind), times(*count)),
    });
    let more = unsupported.len().saturating_sub(MAX_KINDS);
    let mut kinds: Vec<_> = kinds.take(MAX_KINDS).collect();
    if more > 0 {
        kinds.push(format!("{more} more"));
    }
    let found = if kinds.is_empty() {
        String::new()
    } else {
        format!(", found only {}", kinds.join(", "))
    };
    let other = counts(&[other]);
    format!("nothing was evaluated{found}{other}; `managed-by kinds` lists the supported kinds")
}

/// Prints the table of a replay, and the steps to show in full.
pub(crate) fn write_replay(out: &mut impl Write, summary: &ReplaySummary) -> io::Result<()> {
    for shown in &summary.shown {
        write_result(out, shown)?;
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
    });
    let header = [
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
    write!(out, "{}", table(header, rows))
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
        pluralize(tally.documents, "document"),
        pluralize(tally.evaluated, "request"),
        number(tally.denied),
        number(tally.warned)
    );
    if tally.stored > 0 {
        let stored = pluralize(tally.stored, "stored object");
        let with_findings = number(tally.stored_with_findings);
        let _ = write!(text, "; {stored}, {with_findings} with findings");
    }
    let unsupported = tally.unsupported.values().copied();
    text + &counts(&[
        (tally.skipped_count(), "could not be evaluated"),
        (tally.rejected, REJECTED),
        (unsupported.fold(0, u64::saturating_add), "of other kinds"),
    ])
}

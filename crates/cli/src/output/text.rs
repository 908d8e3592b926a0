//! Human-readable output.

use std::fmt::Write as _;
use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use managed_by::{Enforcement, Release, ReleaseSet};
use managed_by_offline::Remark;
use managed_by_offline::replay::{ObjectName, Seen};

use super::plain::{plain, plain_line};
use super::table::Table;
use crate::diagnostic::{self, Diagnostic, Source, Span};
use crate::hint;
use crate::report::{Finding, Outcome, Report};
use crate::summary::Summary;
use crate::words::{count_of, counts, number, words};

/// Prints a report with excerpts of the files.
pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for outcome in &report.results {
        self::outcome(out, outcome)?;
    }
    Ok(())
}

/// Prints the result of one request.
pub(crate) fn outcome(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    for finding in outcome.counted() {
        writeln!(out, "{}\n", self::finding(outcome, finding))?;
    }
    // A denial or warning without a rule: an exemption, or an unsupported kind.
    if outcome.findings.is_empty() {
        let warnings = outcome.warnings.iter().map(String::as_str);
        let (level, said) = match outcome.decision.message() {
            Some(message) => (Level::ERROR, vec![message]),
            None => (Level::WARNING, warnings.collect()),
        };
        for text in said {
            let group = at(
                level
                    .clone()
                    .primary_title(plain(text))
                    .element(origin(outcome, None)),
                outcome,
            );
            writeln!(out, "{}\n", Renderer::styled().render(&[group]))?;
        }
    }
    // Notes alone get a paragraph only if there is nothing else.
    let dropped = outcome.remark == Some(Remark::StatusDropped);
    let dropped = dropped.then_some(Remark::StatusDropped.as_str());
    let notes = dropped.filter(|_| outcome.findings.is_empty()).into_iter();
    let unchecked = match &*outcome.unchecked {
        [] => None,
        [one] => Some(format!("{one} differs")),
        all => Some(format!("{} differ", all.join(", "))),
    };
    let unchecked = unchecked
        .map(|text| format!("{text}: kube-apiserver may refuse that, it is not checked here"));
    for text in notes.chain(unchecked.as_deref()) {
        let title = Level::NOTE.primary_title(text);
        let group = at(title.element(origin(outcome, None)), outcome);
        writeln!(out, "{}\n", Renderer::styled().render(&[group]))?;
    }
    Ok(())
}

fn finding(outcome: &Outcome, finding: &Finding) -> String {
    let found = &finding.found;
    let level = match found.enforcement {
        Enforcement::Deny => Level::ERROR,
        Enforcement::Warn | Enforcement::Off => Level::WARNING,
    };
    let title = level.primary_title(plain(&found.text)).id(found.rule.id());
    let group = match (&finding.source, &finding.place) {
        (Some(source), _) => title.element(snippet(&outcome.file, source)),
        (None, place) => title.element(origin(outcome, place.as_ref())),
    };
    let mut group = at(group, outcome);
    if let Some(releases) = outcome.releases_of(found) {
        group = group.element(Level::NOTE.message(releases));
    }
    if let Some(dropped) = outcome.dropped() {
        group = group.element(Level::NOTE.message(dropped));
    }
    let fix = words(found.rule.documentation().fix);
    let group = group.element(Level::HELP.message(fix));
    Renderer::styled().render(&[group])
}

fn at<'g>(group: Group<'g>, outcome: &Outcome) -> Group<'g> {
    let is_stored = outcome.asks.is_stored();
    let since = if is_stored { "since" } else { "at" };
    let mut text = outcome.asked();
    // Stored objects have no user.
    for (word, what) in [("by", &outcome.user), (since, &outcome.time)] {
        if let Some(what) = what {
            // Writing to a String cannot fail.
            let _ = write!(text, " {word} {what}");
        }
    }
    let group = group.element(Level::NOTE.message(plain(&text).into_owned()));
    match outcome.remark {
        Some(remark) if !is_stored && !outcome.findings.is_empty() => {
            group.element(Level::NOTE.message(remark.as_str()))
        }
        _ => group,
    }
}

fn origin(outcome: &Outcome, place: Option<&Span>) -> Origin<'static> {
    let origin = Origin::path(plain(&outcome.file).into_owned());
    match place.or(outcome.place.as_ref()) {
        Some(place) => origin.line(place.line).char_column(place.column),
        None => origin,
    }
}

fn snippet<'s>(
    file: &'s str,
    source: &'s Source,
) -> Snippet<'s, annotate_snippets::Annotation<'s>> {
    Snippet::source(plain_line(&source.text))
        .line_start(source.first_line)
        .path(plain(file))
        .annotation(AnnotationKind::Primary.span(source.span.clone()))
}

/// Formats a diagnostic, with the line of the file if it is known.
pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> String {
    let level = diagnostic.kind.level();
    let word = level.as_str();
    let level = match level {
        diagnostic::Level::Error => Level::ERROR,
        diagnostic::Level::Warning => Level::WARNING,
        diagnostic::Level::Note => Level::NOTE,
    };
    let Some(source) = &diagnostic.source else {
        let text = format!("{}: {}", diagnostic.place(), diagnostic.text);
        return format!("{word}: {}\n", plain(&text));
    };
    let snippet = snippet(&diagnostic.file, source);
    let text = plain(&diagnostic.text);
    let group = level.primary_title(text).element(snippet);
    format!("{}\n\n", Renderer::styled().render(&[group]))
}

/// Formats the totals as one line.
pub(crate) fn sums(report: &Report) -> String {
    let sums = report.sums();
    let (judged, denied, warned) = (
        count_of(sums.judged, "object"),
        number(sums.denied),
        number(sums.warned),
    );
    let warnings = if report.warnings.len() == 1 {
        "other warning"
    } else {
        "other warnings"
    };
    let others = counts(&[
        (sums.unjudged, "could not be judged"),
        (sums.unknown, "of other kinds"),
        (report.skipped, SKIPPED),
        (report.empty, "empty"),
        (report.gone.len(), "gone"),
        (report.warnings.len(), warnings),
    ]);
    let excused = excused(report);
    format!("{judged} judged: {denied} denied, {warned} with warnings{others}{excused}")
}

/// The label for unreadable files that are not reported.
const SKIPPED: &str = "skipped, which could not be read";

/// Formats the numbers of excused and gone findings, if any.
pub(crate) fn excused(report: &Report) -> String {
    let sums = report.sums();
    counts(&[
        (sums.excepted, "excepted"),
        (sums.baseline, "in the baseline"),
        (report.fixed, "fixed"),
    ])
}

/// Lists the objects that only one of two files contains, one per line.
pub(crate) fn created_and_deleted(report: &Report) -> String {
    let created = report.created.iter().map(|object| (object, "created"));
    let gone = report.gone.iter().map(|object| (object, "deleted"));
    let mut text = String::new();
    for (object, what) in created.chain(gone) {
        let _ = writeln!(text, "{what}: {}", plain(&object.to_string()));
    }
    text
}

/// Formats hints about objects that are not evaluated.
pub(crate) fn hints(report: &Report) -> String {
    let mut text = String::new();
    for (hint, seen) in &report.hints {
        let place = plain(&seen.place);
        let _ = writeln!(text, "help: {place}: {}{}", plain(hint), times(seen.count));
    }
    text
}

/// Formats a note about objects without other results whose `managedBy` is dropped.
pub(crate) fn dropped(report: &Report) -> String {
    let quiet = report.results.iter().filter(|r| r.findings.is_empty());
    let mut dropped = quiet.filter_map(|outcome| Some((outcome, outcome.dropped()?)));
    let Some((first, text)) = dropped.next() else {
        return String::new();
    };
    let place = first.place.as_ref();
    let line = place.map(|place| format!(":{}", place.line));
    let place = format!("{}{}", first.file, line.unwrap_or_default());
    let more = u64::try_from(dropped.count()).unwrap_or(u64::MAX);
    let times = times(more.saturating_add(1));
    format!("note: {}: {text}{times}\n", plain(&place))
}

/// Formats a number of occurrences greater than one.
fn times(count: u64) -> String {
    match count {
        1 => String::new(),
        count => format!(" ({} times)", number(count)),
    }
}

/// Formats hints about the kinds in a recording, without versions.
pub(crate) fn hints_of_kinds(summary: &Summary) -> String {
    let hints = summary.tally.unknown.iter().filter_map(|(name, count)| {
        let (kind, group) = name.split_once('.').unwrap_or((name, ""));
        let hint = hint::of_kind(group, None, kind)?;
        Some(format!("help: {}{}\n", plain(&hint), times(*count)))
    });
    hints.collect()
}

/// Formats a message that nothing was evaluated, with the input found.
pub(crate) fn nothing<'u>(
    unknown: impl Iterator<Item = (&'u String, &'u u64)>,
    skipped: usize,
) -> String {
    let mut text = "nothing was judged".to_owned();
    let mut open = ", there is only ";
    for (kind, count) in unknown {
        let _ = match &**kind {
            "" => write!(text, "{open}a document without `kind`{}", times(*count)),
            kind => write!(text, "{open}{}{}", plain(kind), times(*count)),
        };
        open = ", ";
    }
    text.push_str(&counts(&[(skipped, SKIPPED)]));
    text.push_str("; `managed-by kinds` lists what is judged");
    text
}

/// Prints the table of a replay, and the steps to show in full.
pub(crate) fn write_replay(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    for shown in &summary.shown {
        outcome(out, shown)?;
    }
    if summary.tally.rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        "KIND",
        "RULE",
        "DOES",
        "RELEASES",
        "COUNT",
        "FIRST",
        "LAST",
        "FIRST OBJECT",
        "BY",
    ]);
    for (key, row) in &summary.tally.rows {
        table.row([
            key.kind.clone(),
            key.rule.to_owned(),
            match (key.is_stored, key.is_denied) {
                (true, _) => "stored",
                (false, true) => "deny",
                (false, false) => "warn",
            }
            .to_owned(),
            releases(row.releases, summary.release),
            number(row.count).to_string(),
            plain(&seen(&row.first, summary)).into_owned(),
            plain(&seen(&row.last, summary)).into_owned(),
            plain(&name(&row.object)).into_owned(),
            row.user
                .as_deref()
                .map_or_else(|| "-".to_owned(), |user| plain(user).into_owned()),
        ]);
    }
    write!(out, "{table}")
}

/// Formats the releases with a finding.
fn releases(found_by: Option<ReleaseSet>, asked: Option<Release>) -> String {
    match (found_by, asked) {
        (Some(set), _) if set != ReleaseSet::all() => set.to_string(),
        (_, Some(release)) => release.to_string(),
        _ => "all".to_owned(),
    }
}

/// Formats the time of a record, or its position if there is none.
fn seen(seen: &Seen, summary: &Summary) -> String {
    if let Some(time) = &seen.time {
        return time.clone();
    }
    let file = summary
        .files
        .get(seen.source)
        .map(|file| &**file)
        .unwrap_or_default();
    let file = file.rsplit('/').next().unwrap_or_default();
    format!("{file}:{}", seen.line)
}

fn name(object: &ObjectName) -> String {
    let slash = if object.namespace.is_empty() { "" } else { "/" };
    format!("{}{slash}{}", object.namespace, object.name)
}

/// Formats the totals of a replay as one line.
pub(crate) fn replay_sums(summary: &Summary) -> String {
    let tally = &summary.tally;
    let mut text = format!(
        "{}, {} judged: {} denied, {} with warnings",
        count_of(tally.documents, "document"),
        count_of(tally.judged, "request"),
        number(tally.denied),
        number(tally.warned)
    );
    if tally.stored > 0 {
        let stored = count_of(tally.stored, "object");
        let _ = write!(
            text,
            "; {stored} stored before, {} with findings",
            number(tally.stored_found)
        );
    }
    let unknown = tally.unknown.iter().map(|(_, count)| *count);
    text.push_str(&counts(&[
        (tally.unjudged_count(), "could not be judged"),
        (tally.refused, "refused by the API server"),
        (unknown.fold(0, u64::saturating_add), "of other kinds"),
    ]));
    text
}

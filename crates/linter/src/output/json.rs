//! JSON output that matches `docs/cli.schema.json`.

use std::io::{self, Write};
use std::sync::Arc;

use managed_by::{Decision, Evaluation, ReleaseDecisions, Verdict};
use managed_by_console::diagnostic::{Level, Span};
use managed_by_console::escape::{json_document, json_line};
use managed_by_console::format::{pluralize, set};
use managed_by_offline::RecordPosition;
use serde::Serialize;
use serde_json::{Value, json};

use crate::recording::ReplaySummary;
use crate::report::{Report, ReportKind};
use crate::result::RequestResult;

/// The version of the format. It changes when a member is removed or changes its meaning.
pub(super) const FORMAT: u32 = 1;

pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let diagnostics_with_level = |level| report.diagnostics_with_level(level).collect::<Vec<_>>();
    let mut document = json!({
        "format": FORMAT,
        "command": report.kind,
        "summary": summary(report),
        "results": report.results,
        "errors": diagnostics_with_level(Level::Error),
        "warnings": diagnostics_with_level(Level::Warning),
        "notes": diagnostics_with_level(Level::Note),
    });
    if report.kind == ReportKind::Diff {
        set(&mut document, "created", json!(report.created));
        set(&mut document, "deleted", json!(report.deleted));
    }
    writeln!(out, "{}", json_document(&document))
}

/// Prints the results of a report as JSON lines.
pub(crate) fn write_results(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut results = report.results.iter();
    results.try_for_each(|result| write_line(out, "result", result))
}

/// Prints the rest of a report as JSON lines: diagnostics, totals.
pub(crate) fn write_end(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for diagnostic in report.sorted_diagnostics() {
        write_line(out, &diagnostic.level().to_string(), diagnostic)?;
    }
    write_line(out, "summary", summary(report))
}

/// Prints an object as a JSON line with its type.
pub(crate) fn write_line(
    out: &mut impl Write,
    kind: &str,
    value: impl Serialize,
) -> io::Result<()> {
    let mut value = json!(value);
    set(&mut value, "type", kind.into());
    set(&mut value, "format", FORMAT.into());
    writeln!(out, "{}", json_line(&value))
}

fn summary(report: &Report) -> Value {
    let totals = report.totals();
    json!({
        "evaluated": totals.evaluated, "denied": totals.denied, "warned": totals.warned,
        "errors": report.errors(), "deleted": report.deleted.len(), "unsupported": report.unsupported,
        "skipped": report.skipped, "empty": report.empty, "fixed": report.fixes.len(),
        "exceptions": totals.excepted,
    })
}

/// Prints the totals of a replay, as one document or as the last of many lines.
pub(crate) fn write_replay(
    out: &mut impl Write,
    summary: &ReplaySummary,
    is_document: bool,
) -> io::Result<()> {
    let rows = summary.tally.rows.values().map(|row| {
        let mut value = json!(row);
        for (name, at) in [("first", &row.first), ("last", &row.last)] {
            set(&mut value, name, position(at, &summary.files));
        }
        value
    });
    let rows: Vec<_> = rows.collect();
    let mut totals = json!(summary.tally);
    if let Value::Object(members) = &mut totals {
        members.remove("rows");
    }
    let value = json!({
        "format": FORMAT,
        "command": "replay",
        "summary": totals,
        "rows": rows,
        "results": summary.shown,
        "errors": summary.errors,
    });
    if is_document {
        writeln!(out, "{}", json_document(&value))
    } else {
        write_line(out, "summary", value)
    }
}

pub(super) fn position(position: &RecordPosition, files: &[Arc<str>]) -> Value {
    let file = files.get(position.source).map(|file| &**file);
    json!({"file": file, "line": position.line, "time": position.time})
}

/// Converts the rows of a replay to a report, for formats with only positions and findings. Each row is at its first
/// occurrence.
pub(crate) fn replay_report(summary: &ReplaySummary) -> Report {
    let rows = summary.tally.rows.iter().map(|(key, row)| {
        let mut finding = row.finding.clone();
        let (text, count, object) = (&finding.message, row.count, &row.object);
        finding.message = format!("{text} ({}, first on {object})", pluralize(count, "time"));
        finding.releases = row.releases;
        // Stored objects have no request. The formats do not include the code.
        let decision = if key.is_denied && !key.is_stored {
            let message = finding.message.clone();
            Decision::Denied { code: 422, message }
        } else {
            finding.enforcement = managed_by::Enforcement::Warn;
            Decision::Allowed
        };
        let report = Evaluation {
            findings: vec![finding],
            ..Evaluation::uniform(Verdict::allowed(), None)
        };
        let file = summary.files.get(row.first.source).cloned();
        let file = file.unwrap_or_else(|| Arc::from(""));
        let line = usize::try_from(row.first.line).unwrap_or(usize::MAX);
        RequestResult {
            span: Some(Span::line(line)),
            user: row.user.clone(),
            time: row.first.time.clone(),
            decision,
            releases: row.releases.map(|denied| ReleaseDecisions {
                allowed: summary.releases.difference(denied),
                denied,
            }),
            ..RequestResult::new(&file, row.object.clone(), row.operation, report, |_| {
                Some((Span::line(line), None))
            })
        }
    });
    Report {
        results: rows.collect(),
        diagnostics: summary.errors.clone(),
        kind: ReportKind::Replay,
        ..Report::default()
    }
}

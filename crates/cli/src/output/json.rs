//! JSON output that matches `docs/cli.schema.json`.

use std::io::{self, Write};
use std::sync::Arc;

use managed_by::{Decision, Enforcement, ReleaseSet};
use managed_by_offline::replay::Seen;
use managed_by_offline::{Asks, Found, Matrix, ObjectReport, Why};
use serde_json::{Map, Value, json};

use crate::diagnostic::Span;
use crate::report::{Kind, Outcome, Report, page};
use crate::summary::Summary;

/// The version of the format. It changes when a member is removed or changes its meaning.
pub(super) const FORMAT: u32 = 1;

/// Prints a report as one document.
pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut document = json!({
        "format": FORMAT,
        "command": report.kind.as_str(),
        "summary": summary(report),
        "results": report.results,
        "unjudged": report.unjudged,
        "warnings": report.warnings,
        "notes": report.notes,
    });
    if let (Value::Object(members), Kind::Diff) = (&mut document, report.kind) {
        for (key, objects) in [("created", &report.created), ("deleted", &report.gone)] {
            members.insert(key.to_owned(), json!(objects));
        }
    }
    writeln!(out, "{document:#}")
}

/// Prints a report as JSON lines: results, skipped input, totals.
pub(crate) fn write_lines(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for result in &report.results {
        line(out, result)?;
    }
    for (what, diagnostics) in [
        ("unjudged", &report.unjudged),
        ("warning", &report.warnings),
        ("note", &report.notes),
    ] {
        for diagnostic in diagnostics {
            writeln!(out, "{}", tagged(what, json!(diagnostic)))?;
        }
    }
    writeln!(out, "{}", tagged("summary", summary(report)))
}

pub(crate) fn line(out: &mut impl Write, result: &Outcome) -> io::Result<()> {
    writeln!(out, "{}", tagged("result", json!(result)))
}

/// Adds the type of an object as its first member.
fn tagged(what: &str, mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.insert("type".to_owned(), what.into());
        members.insert("format".to_owned(), FORMAT.into());
    }
    value
}

fn summary(report: &Report) -> Value {
    let sums = report.sums();
    json!({
        "judged": sums.judged, "denied": sums.denied, "warned": sums.warned,
        "unjudged": sums.unjudged, "gone": report.gone.len(), "unknown": report.unknown, "skipped": report.skipped, "empty": report.empty,
        "excepted": sums.excepted, "baseline": sums.baseline, "fixed": report.fixed,
    })
}

/// Prints the totals of a replay, as one document or as the last of many lines.
pub(crate) fn write_replay(
    out: &mut impl Write,
    summary: &Summary,
    is_document: bool,
) -> io::Result<()> {
    let tally = &summary.tally;
    let unknown = tally.unknown.iter();
    let unknown: Map<_, _> = unknown
        .map(|(kind, count)| (kind.clone(), (*count).into()))
        .collect();
    let rows = tally.rows.iter().map(|(key, row)| {
        let mut value = json!({
            "kind": key.kind, "rule": key.rule,
            "enforcement": if key.is_denied { "deny" } else { "warn" },
            "count": row.count, "first": seen(&row.first, &summary.files),
            "last": seen(&row.last, &summary.files),
            "object": row.object, "text": row.found.text, "page": page(row.found.rule),
        });
        if let Value::Object(members) = &mut value {
            if let Some(set) = row.releases {
                members.insert("releases".to_owned(), json!(set));
            }
            if key.is_stored {
                members.insert("stored".to_owned(), true.into());
            }
            if let Some(user) = &row.user {
                members.insert("user".to_owned(), user.clone().into());
            }
        }
        value
    });
    let value = json!({
        "format": FORMAT,
        "command": "replay",
        "summary": {
            "documents": tally.documents, "judged": tally.judged, "denied": tally.denied, "warned": tally.warned,
            "stored": tally.stored, "storedFound": tally.stored_found,
            "refused": tally.refused, "unjudged": by_reason(&tally.unjudged), "unknown": unknown,
        },
        "rows": rows.collect::<Vec<_>>(),
        "results": summary.shown,
        "unjudged": summary.unjudged,
    });
    if is_document {
        writeln!(out, "{value:#}")
    } else {
        writeln!(out, "{}", tagged("summary", value))
    }
}

/// Returns the number of skipped records per reason.
pub(super) fn by_reason(counts: &[(Why, u64)]) -> Map<String, Value> {
    let counts = counts.iter();
    let counts = counts.map(|(why, count)| (why.as_str().to_owned(), (*count).into()));
    counts.collect()
}

pub(super) fn seen(seen: &Seen, files: &[Arc<str>]) -> Value {
    let file = files.get(seen.source).map(|file| &**file);
    json!({"file": file, "line": seen.line, "time": seen.time})
}

/// Converts the rows of a replay to a report, for formats with only positions and findings. Each row is at its first
/// occurrence.
pub(crate) fn replay_report(summary: &Summary) -> Report {
    let rows = summary.tally.rows.iter().map(|(key, row)| {
        let file = summary.files.get(row.first.source).cloned();
        let line = usize::try_from(row.first.line).unwrap_or(usize::MAX);
        let mut found = row.found.clone();
        found.releases = row.releases;
        // Stored objects have no request.
        if key.is_stored {
            found.enforcement = Enforcement::Warn;
        }
        found.text = format!(
            "{} ({} times, first on {})",
            found.text, row.count, row.object
        );
        let decision = if found.enforcement == Enforcement::Deny {
            // The report formats do not include the code.
            Decision::Denied {
                code: 422,
                message: found.text.clone(),
            }
        } else {
            Decision::Allowed
        };
        let judgement = ObjectReport {
            decision,
            warnings: Vec::new(),
            audit_annotations: Vec::new(),
            findings: vec![found],
            releases: row.releases.map(|denied| Matrix {
                accepted: ReleaseSet::all().without(denied),
                denied,
            }),
        };
        let file = file.unwrap_or_else(|| Arc::from(""));
        let place = Span::line(line);
        let locate = |_: &Found| Some((place.clone(), None));
        Outcome {
            place: Some(place.clone()),
            user: row.user.clone(),
            time: row.first.time.clone(),
            ..Outcome::new(&file, row.object.clone(), Asks::Update, judgement, locate)
        }
    });
    Report {
        results: rows.collect(),
        unjudged: summary.unjudged.clone(),
        kind: Kind::Replay,
        ..Report::default()
    }
}

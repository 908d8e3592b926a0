//! JSON, by the schema in `docs/cli.schema.json`.

use std::io::{self, Write};
use std::sync::Arc;

use managed_by::{Enforcement, ReleaseSet};
use managed_by_offline::Why;
use managed_by_offline::replay::{ObjectName, Seen};
use managed_by_offline::{Asks, Matrix};
use serde_json::{Map, Value, json};

use crate::command::Summary;
use crate::excuse::Excuse;
use crate::report::{Finding, Outcome, Report, Unjudged, page};

/// The version of the format: another one where something is taken away or means something else.
pub(super) const FORMAT: u32 = 1;

/// Prints a report as one document.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(out: &mut impl Write, report: &Report, command: &str) -> io::Result<()> {
    let mut document = json!({
        "format": FORMAT,
        "command": command,
        "summary": summary(report),
        "results": report.results.iter().map(outcome).collect::<Vec<_>>(),
        "unjudged": report.unjudged.iter().map(unjudged).collect::<Vec<_>>(),
        "stale": report.stale.iter().map(unjudged).collect::<Vec<_>>(),
    });
    if let (Value::Object(members), "diff") = (&mut document, command) {
        for (key, objects) in [("created", &report.created), ("deleted", &report.gone)] {
            members.insert(key.to_owned(), objects.iter().map(object).collect());
        }
    }
    writeln!(out, "{document:#}")
}

/// Prints a report line by line: results, what could not be judged, the sums.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_lines(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for result in &report.results {
        line(out, result)?;
    }
    for unjudged in &report.unjudged {
        writeln!(out, "{}", tagged("unjudged", self::unjudged(unjudged)))?;
    }
    for stale in &report.stale {
        writeln!(out, "{}", tagged("stale", unjudged(stale)))?;
    }
    writeln!(out, "{}", tagged("summary", summary(report)))
}

/// Prints a result as a line.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn line(out: &mut impl Write, result: &Outcome) -> io::Result<()> {
    writeln!(out, "{}", tagged("result", outcome(result)))
}

/// An object that says first what it is.
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
        "unjudged": sums.unjudged, "gone": report.gone.len(), "unknown": report.unknown, "skipped": report.skipped,
        "excepted": sums.excepted, "baseline": sums.baseline, "fixed": report.fixed,
    })
}

fn outcome(outcome: &Outcome) -> Value {
    let mut value = json!({
        "file": &*outcome.file,
        "object": object(&outcome.object),
        "operation": outcome.asks.operation(),
        "subResource": outcome.asks.sub_resource(),
        "allowed": outcome.is_allowed,
        "warnings": outcome.warnings,
        "findings": outcome.findings.iter().map(finding).collect::<Vec<_>>(),
    });
    if let Value::Object(members) = &mut value {
        let mut add = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.insert(key.to_owned(), value);
            }
        };
        add(
            "line",
            outcome.place.as_ref().map(|place| place.line.into()),
        );
        add(
            "column",
            outcome.place.as_ref().map(|place| place.column.into()),
        );
        add("user", outcome.user.clone().map(Value::from));
        add("time", outcome.time.clone().map(Value::from));
        add("code", outcome.code.map(Value::from));
        add("message", outcome.message.clone().map(Value::from));
        add("releases", outcome.releases.map(matrix));
        add(
            "droppedBy",
            (!outcome.dropped_by.is_empty()).then(|| json!(outcome.dropped_by)),
        );
        add("stored", outcome.asks.is_stored().then(|| true.into()));
        add(
            "remark",
            outcome.remark.map(|remark| remark.as_str().into()),
        );
        add(
            "unchecked",
            (!outcome.unchecked.is_empty()).then(|| outcome.unchecked.clone().into()),
        );
    }
    value
}

fn object(object: &ObjectName) -> Value {
    json!({
        "group": object.group, "version": object.version, "kind": object.kind,
        "namespace": object.namespace, "name": object.name,
    })
}

fn matrix(matrix: Matrix) -> Value {
    json!({"accepted": matrix.accepted, "denied": matrix.denied})
}

fn finding(finding: &Finding) -> Value {
    let found = &finding.found;
    let mut value = json!({
        "rule": found.rule.id(), "enforcement": found.enforcement.as_str(), "upstream": found.is_upstream, "path": found.path,
        "type": found.error_type.as_str(), "text": found.text, "detail": found.detail,
        "help": words(found.rule.documentation().fix), "page": page(found.rule),
    });
    if let Value::Object(members) = &mut value {
        if let Some(set) = found.releases {
            members.insert("releases".to_owned(), json!(set));
        }
        if !found.texts.is_empty() {
            members.insert("texts".to_owned(), json!(found.texts));
        }
        match &finding.excuse {
            Some(Excuse::Exception(reason)) => {
                members.insert(
                    "excused".to_owned(),
                    json!({"by": "exception", "reason": reason}),
                );
            }
            Some(Excuse::Baseline) => {
                members.insert("excused".to_owned(), json!({"by": "baseline"}));
            }
            None => {}
        }
        if let Some(place) = &finding.place {
            let place = [
                ("line", place.line),
                ("column", place.column),
                ("endLine", place.end_line),
                ("endColumn", place.end_column),
            ];
            members.extend(place.map(|(key, value)| (key.to_owned(), value.into())));
        }
    }
    value
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn unjudged(unjudged: &Unjudged) -> Value {
    json!({
        "file": &*unjudged.file, "line": unjudged.line, "column": unjudged.column, "text": unjudged.text,
    })
}

/// Prints the sums of a replay: as one document, or as the last line of many.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_replay(
    out: &mut impl Write,
    summary: &Summary,
    is_document: bool,
) -> io::Result<()> {
    let tally = &summary.tally;
    let unknown = tally.unknown.iter();
    let unknown: Map<_, _> = unknown
        .map(|(kind, count)| (kind.to_owned(), (*count).into()))
        .collect();
    let rows = tally.rows.iter().map(|(key, row)| {
        let mut value = json!({
            "kind": key.kind, "rule": key.rule,
            "enforcement": if key.is_denied { "deny" } else { "warn" },
            "count": row.count, "first": seen(&row.first, &summary.files),
            "last": seen(&row.last, &summary.files),
            "object": object(&row.object), "text": row.found.text, "page": page(row.found.rule),
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
        "results": summary.shown.iter().map(outcome).collect::<Vec<_>>(),
        "unjudged": summary.unjudged.iter().map(unjudged).collect::<Vec<_>>(),
    });
    if is_document {
        writeln!(out, "{value:#}")
    } else {
        writeln!(out, "{}", tagged("summary", value))
    }
}

/// What could not be judged, by reason.
pub(super) fn by_reason(counts: &[(Why, u64)]) -> Map<String, Value> {
    let counts = counts.iter();
    let counts = counts.map(|(why, count)| (why.as_str().to_owned(), (*count).into()));
    counts.collect()
}

pub(super) fn seen(seen: &Seen, files: &[Arc<str>]) -> Value {
    let file = files.get(seen.source).map(|file| &**file);
    json!({"file": file, "line": seen.line, "time": seen.time})
}

/// The rows of a replay as a report, for formats that know only places and findings: each row where it was first seen.
pub(crate) fn replay_report(summary: &Summary) -> Report {
    let rows = summary.tally.rows.iter().map(|(key, row)| {
        let file = summary.files.get(row.first.source).cloned();
        let line = usize::try_from(row.first.line).unwrap_or(usize::MAX);
        let mut found = row.found.clone();
        found.releases = row.releases;
        // What is stored already was asked of nobody.
        let is_denied = key.is_denied && !key.is_stored;
        if key.is_stored {
            found.enforcement = Enforcement::Warn;
        }
        found.text = format!(
            "{} ({} times, first on {})",
            found.text, row.count, row.object
        );
        Outcome {
            file: file.unwrap_or_else(|| Arc::from("")),
            place: Some(super::line(line)),
            object: row.object.clone(),
            asks: Asks::Update,
            remark: None,
            unchecked: Vec::new(),
            user: row.user.clone(),
            time: row.first.time.clone(),
            is_allowed: !is_denied,
            code: None,
            message: (found.enforcement == Enforcement::Deny).then(|| found.text.clone()),
            warnings: Vec::new(),
            releases: row.releases.map(|denied| Matrix {
                accepted: ReleaseSet::all().without(denied),
                denied,
            }),
            dropped_by: ReleaseSet::default(),
            findings: vec![Finding {
                found,
                place: Some(super::line(line)),
                source: None,
                excuse: None,
            }],
        }
    });
    Report {
        results: rows.collect(),
        unjudged: summary.unjudged.clone(),
        ..Report::default()
    }
}

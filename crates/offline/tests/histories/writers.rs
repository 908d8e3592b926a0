//! Lists the status writers in audit logs: a recorded one, and the cases of `writers.yml`.

use std::fmt::Write as _;

use managed_by_offline::replay::{StatusWriter, StatusWriterLists};
use managed_by_offline::{StatusWriterCollector, complete_len};
use serde::Deserialize;
use serde_json::Value;

use crate::merge_patch;

#[derive(Deserialize)]
struct Cases {
    event: Value,
    cases: Vec<Case>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Case {
    settings: Value,
    log: Vec<Value>,
    /// Each list and its writers: `Job ana 2`, `acme.io/x ana 2 findings 1`.
    writers: Vec<String>,
    rejected: u64,
    other: u64,
    unknown_reconciler: u64,
    /// The line, the reason and the text.
    skipped: Option<(u64, String, String)>,
    /// The line of each writer's first write.
    first: Option<Vec<u64>>,
}

/// Returns the status writers in a log, and the line, reason and text of each skipped record.
fn read(settings: &Value, text: &str) -> (StatusWriterLists, Vec<(u64, String, String)>) {
    let settings = settings.to_string();
    let mut writers = StatusWriterCollector::new(&settings).unwrap();
    let mut skipped = Vec::new();
    let (documents, _) = managed_by_offline::split_documents(text.as_bytes(), 0, 0);
    writers.read_documents(&documents, |position, record| {
        skipped.push((position.line, record.reason.to_string(), record.text));
    });
    (writers.finish(), skipped)
}

fn listed(text: &str) -> Vec<String> {
    let (written, skipped) = read(&Value::Null, text);
    assert_eq!(skipped, [], "{text}");
    lines(&written)
}

fn lines(written: &StatusWriterLists) -> Vec<String> {
    let lists = written.builtin.iter().chain(&written.delegated);
    let lines = lists.flat_map(|(name, writers)| {
        let line = move |writer: &StatusWriter| {
            let mut line = format!("{name} {} {}", writer.user, writer.writes);
            if writer.with_findings > 0 {
                write!(line, " findings {}", writer.with_findings).unwrap();
            }
            line
        };
        writers.iter().map(line)
    });
    lines.collect()
}

#[test]
fn audit_logs_match_their_expected_writers() {
    let Cases { event, cases } = crate::cases(include_str!("writers.yml"));
    for case in cases {
        let lines_of_log = case.log.iter().map(|changes| match changes {
            Value::String(line) => format!("{line}\n"),
            changes => {
                format!("{}\n", merge_patch(&event, changes))
            }
        });
        let (written, skipped) = read(&case.settings, &lines_of_log.collect::<String>());
        assert_eq!(lines(&written), case.writers, "{case:?}");
        let lists = written.builtin.iter().chain(&written.delegated);
        let writers: Vec<_> = lists.flat_map(|(_, writers)| writers).collect();
        let totals = &written.totals;
        assert_eq!(
            [
                totals.writes,
                totals.with_findings,
                totals.rejected,
                totals.other,
                totals.unknown_reconciler,
                u64::try_from(totals.skipped.len()).unwrap(),
            ],
            [
                writers.iter().map(|writer| writer.writes).sum(),
                writers.iter().map(|writer| writer.with_findings).sum(),
                case.rejected,
                case.other,
                case.unknown_reconciler,
                u64::from(case.skipped.is_some()),
            ],
            "{case:?}"
        );
        assert!(skipped.iter().eq(&case.skipped), "{skipped:?}");
        for (_, reason, _) in &skipped {
            let (counted, count) = totals.skipped.first_key_value().unwrap();
            assert_eq!((&counted.to_string(), *count), (reason, 1));
        }
        let first: Vec<_> = writers.iter().map(|writer| writer.first.line).collect();
        assert!(
            case.first.is_none_or(|expected| expected == first),
            "{first:?}"
        );
    }
    StatusWriterCollector::new("{\"custom_kinds\":[{}]}").unwrap_err();
}

/// Reading a log in pieces gives the same result. As an `EventList`, or without the objects, the log has the same writers.
#[test]
fn recorded_log_has_the_same_writers_in_any_form() {
    let path = "/../../parity/traces/audit/jobset-resume-denied.ndjson";
    let text = std::fs::read_to_string(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (written, skipped) = read(&Value::Null, &text);
    assert_eq!(skipped, []);
    assert_eq!(written.totals.documents, 36);
    let mut pieces = StatusWriterCollector::new("{}").unwrap();
    let (mut rest, mut before) = (text.as_bytes(), 0);
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(complete_len(
            &rest[..rest.len().min(40_000)],
            rest.len() <= 40_000,
        ));
        let (documents, lines) = managed_by_offline::split_documents(piece, 0, before);
        pieces.read_documents(&documents, |_, record| panic!("{record:?}"));
        before += lines;
        rest = more;
    }
    assert_eq!(pieces.finish(), written);
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let list =
        serde_json::json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": events});
    assert_eq!(listed(&list.to_string()), lines(&written));
    let mut bare = String::new();
    for mut event in events {
        let members = event.as_object_mut().unwrap();
        members.remove("requestObject");
        members.remove("responseObject");
        writeln!(bare, "{event}").unwrap();
    }
    assert_eq!(listed(&bare), lines(&written));
}

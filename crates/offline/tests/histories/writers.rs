//! Lists the status writers in audit logs: a recorded one, and the cases of `writers.yml`.

use std::fmt::Write as _;

use managed_by_offline::replay::{StatusWriter, Written};
use managed_by_offline::{StatusWriters, complete};
use serde::Deserialize;
use serde_json::Value;

use crate::with;

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
    /// Each list and its writers: `Job ana 2`, `acme.io/x ana 2 denied 1`.
    writers: Vec<String>,
    denied: u64,
    found: u64,
    refused: u64,
    other: u64,
    undecided: u64,
    /// The line, the reason and the text.
    told: Option<(u64, String, String)>,
    times: Option<(String, String)>,
    /// The line of each writer's first write.
    first: Option<Vec<u64>>,
}

/// Returns the writers in a log, and the problems with their lines.
fn read(settings: &Value, text: &str) -> (Written, Vec<(u64, &'static str, String)>) {
    let settings = settings.to_string();
    let mut writers = StatusWriters::new(&settings).unwrap();
    let mut told = Vec::new();
    let (parts, _) = managed_by_offline::parts(text.as_bytes(), 0, 0);
    writers.parts(&parts, |seen, unjudged| {
        told.push((seen.line, unjudged.why.as_str(), unjudged.text));
    });
    (writers.finish(), told)
}

/// Returns the writers in a log.
fn listed(text: &str) -> Vec<String> {
    let (written, told) = read(&Value::Null, text);
    assert_eq!(told, [], "{text}");
    lines(&written)
}

fn lines(written: &Written) -> Vec<String> {
    let lists = written.builtin.iter().chain(&written.delegated);
    let lines = lists.flat_map(|(name, writers)| {
        let line = move |writer: &StatusWriter| {
            let mut line = format!("{name} {} {}", writer.user, writer.writes);
            for (mark, count) in [("denied", writer.denied), ("found", writer.found)] {
                if count > 0 {
                    write!(line, " {mark} {count}").unwrap();
                }
            }
            line
        };
        writers.iter().map(line)
    });
    lines.collect()
}

#[test]
fn each_log_says_who_wrote() {
    let Cases { event, cases } = crate::cases(include_str!("writers.yml"));
    for case in cases {
        let lines_of_log = case.log.iter().map(|changes| match changes {
            Value::String(line) => format!("{line}\n"),
            changes => {
                format!("{}\n", with(&event, changes))
            }
        });
        let (written, told) = read(&case.settings, &lines_of_log.collect::<String>());
        assert_eq!(lines(&written), case.writers, "{case:?}");
        let lists = written.builtin.iter().chain(&written.delegated);
        let counts = lists.flat_map(|(_, writers)| writers).map(|of| of.writes);
        let sums = &written.sums;
        assert_eq!(
            [
                sums.writes,
                sums.denied,
                sums.found,
                sums.refused,
                sums.other,
                sums.undecided,
                u64::try_from(sums.unjudged.len()).unwrap(),
            ],
            [
                counts.sum(),
                case.denied,
                case.found,
                case.refused,
                case.other,
                case.undecided,
                u64::from(case.told.is_some()),
            ],
            "{case:?}"
        );
        let line = sums.first_undecided.as_ref().map(|seen| seen.line);
        assert_eq!(line, (case.undecided > 0).then_some(1), "{case:?}");
        assert_eq!(told.len(), usize::from(case.told.is_some()), "{told:?}");
        for ((line, why, text), told) in case.told.iter().zip(&told) {
            assert_eq!((*line, &**why, text), (told.0, told.1, &told.2));
            assert_eq!(
                (sums.unjudged[0].0.as_str(), sums.unjudged[0].1),
                (&**why, 1)
            );
        }
        if case.times.is_some() {
            assert_eq!(sums.times, case.times);
        }
        let writers = written.builtin.iter().flat_map(|(_, writers)| writers);
        let first: Vec<_> = writers.map(|writer| writer.first.line).collect();
        assert!(
            case.first.is_none_or(|expected| expected == first),
            "{first:?}"
        );
    }
    StatusWriters::new("{\"custom_kinds\":[{}]}").unwrap_err();
}

#[test]
fn jobset_s_controller_is_found_in_the_log_in_which_it_was_denied() {
    let path = "/../../parity/traces/audit/jobset-resume-denied.ndjson";
    let text = std::fs::read_to_string(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (written, told) = read(&Value::Null, &text);
    assert_eq!(told, []);
    assert_eq!(
        lines(&written),
        [
            "Job system:serviceaccount:jobset-system:jobset-controller-manager 14 denied 14",
            "Job system:serviceaccount:kube-system:job-controller 8",
            "JobSet system:serviceaccount:jobset-system:jobset-controller-manager 6",
        ]
    );
    let (_, writers) = &written.builtin[0];
    let first = &writers[0].first;
    assert_eq!((first.source, first.line), (0, 23));
    assert_eq!(first.time.as_deref(), Some("2026-11-22T13:10:48.691836Z"));
    let sums = &written.sums;
    assert_eq!((sums.documents, sums.writes, sums.denied), (36, 28, 14));
    // A conflict.
    assert_eq!((sums.refused, sums.undecided), (1, 0));

    // In pieces, in a list, and without the objects, the log has the same writers at different lines.
    let mut pieces = StatusWriters::new("{}").unwrap();
    let (mut rest, mut before) = (text.as_bytes(), 0);
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(complete(
            &rest[..rest.len().min(40_000)],
            rest.len() <= 40_000,
        ));
        let (parts, lines) = managed_by_offline::parts(piece, 0, before);
        pieces.parts(&parts, |_, unjudged| panic!("{unjudged:?}"));
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

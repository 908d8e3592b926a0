//! The status of a Job: each rule on its own, at its edges, and where releases differ.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::vector::Case;

/// Upstream's own table (`TestStatusStrategy_ValidateUpdate`, 1.37), row by row under its names: what the Job was, and
/// what is written.
const UPSTREAM: &str = include_str!("upstream_status.ndjson");

#[derive(Deserialize)]
struct Row {
    name: String,
    spec: Value,
    old: Value,
    new: Value,
}

/// A status update of a Job with that spec.
pub fn status_update(name: String, spec: &Value, old: Value, new: Value) -> Case {
    let object = |status: Value| {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "pi", "namespace": "default", "uid": "1", "resourceVersion": "7"},
            "spec": spec,
            "status": status,
        })
    };
    Case {
        name,
        operation: "UPDATE".to_owned(),
        sub_resource: "status".to_owned(),
        object: object(new),
        old_object: Some(object(old)),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let rows = UPSTREAM
        .lines()
        .filter_map(|line| serde_json::from_str::<Row>(line).ok());
    let upstream =
        rows.map(|r| status_update(format!("upstream: {}", r.name), &r.spec, r.old, r.new));
    upstream
        .chain(counters())
        .chain(conditions())
        .chain(times())
        .chain(indexes())
        .chain(uncounted())
        .collect()
}

const T0: &str = "2026-01-01T00:00:00Z";
const T1: &str = "2026-01-01T00:01:00Z";

fn condition(list: &[(&str, &str)]) -> Value {
    let entry = |(kind, status): &(&str, &str)| json!({"type": kind, "status": status});
    list.iter().map(entry).collect()
}

fn is_true(list: &[&str]) -> Value {
    let list: Vec<_> = list.iter().map(|c| (*c, "True")).collect();
    condition(&list)
}

fn with(mut status: Value, field: &str, value: Value) -> Value {
    if let Some(fields) = status.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
    status
}

fn complete() -> Value {
    json!({"startTime": T0, "completionTime": T1, "succeeded": 1, "conditions": is_true(&["SuccessCriteriaMet", "Complete"])})
}

fn failed() -> Value {
    json!({"startTime": T0, "failed": 1, "conditions": is_true(&["FailureTarget", "Failed"])})
}

fn running() -> Value {
    json!({"startTime": T0, "active": 1, "ready": 1})
}

fn case(name: &str, spec: &Value, old: Value, new: Value) -> Case {
    status_update(format!("status: {name}"), spec, old, new)
}

fn counters() -> Vec<Case> {
    let plain = json!({});
    let elastic = json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3});
    let indexed = json!({"completionMode": "Indexed", "completions": 3, "parallelism": 2});
    let many = json!({"completions": 3});
    let mut cases = vec![
        case(
            "all counters negative",
            &plain,
            json!({}),
            json!({"active": -1, "succeeded": -2, "failed": -3, "ready": -4, "terminating": -2_147_483_648_i64}),
        ),
        case(
            "negative and unchanged",
            &plain,
            json!({"active": -1}),
            json!({"active": -1, "succeeded": 1}),
        ),
        case(
            "the largest counters",
            &plain,
            json!({}),
            json!({"active": 2_147_483_647, "succeeded": 2_147_483_647, "failed": 2_147_483_647, "ready": 2_147_483_647}),
        ),
        case(
            "ready above active",
            &plain,
            running(),
            json!({"startTime": T0, "active": 1, "ready": 2}),
        ),
        case(
            "ready above active, unchanged",
            &plain,
            json!({"active": 1, "ready": 2}),
            json!({"active": 1, "ready": 2, "failed": 1}),
        ),
        case(
            "ready above active as active falls",
            &plain,
            json!({"active": 3, "ready": 2}),
            json!({"active": 1, "ready": 2}),
        ),
        case(
            "ready of zero beside no active",
            &plain,
            json!({"ready": 1, "active": 1}),
            json!({"ready": 0}),
        ),
        case(
            "active left in a Job that completes",
            &plain,
            running(),
            with(complete(), "active", json!(1)),
        ),
        case(
            "active left in a Job that fails",
            &plain,
            running(),
            with(failed(), "active", json!(2)),
        ),
        case(
            "active in a finished Job, unchanged",
            &plain,
            with(complete(), "active", json!(1)),
            with(with(complete(), "active", json!(1)), "succeeded", json!(2)),
        ),
        case(
            "active rises in a finished Job",
            &plain,
            complete(),
            with(complete(), "active", json!(1)),
        ),
        case(
            "terminating left in a Job that fails",
            &plain,
            running(),
            with(failed(), "terminating", json!(1)),
        ),
        case(
            "terminating of zero in a Job that fails",
            &plain,
            running(),
            with(failed(), "terminating", json!(0)),
        ),
        case(
            "terminating rises in a finished Job",
            &plain,
            failed(),
            with(failed(), "terminating", json!(3)),
        ),
        case(
            "failed falls",
            &plain,
            json!({"failed": 2}),
            json!({"failed": 1}),
        ),
        case(
            "failed is taken away",
            &plain,
            json!({"failed": 2}),
            json!({}),
        ),
        case(
            "succeeded falls",
            &plain,
            json!({"succeeded": 2}),
            json!({"succeeded": 1}),
        ),
        case(
            "counters are null",
            &plain,
            json!({"active": 1}),
            json!({"active": null, "succeeded": null, "failed": null, "ready": null, "terminating": null}),
        ),
    ];
    for (name, spec) in [
        ("elastic", elastic),
        ("indexed", indexed),
        ("of many completions", many),
    ] {
        cases.push(case(
            &format!("succeeded falls in a Job {name}"),
            &spec,
            json!({"succeeded": 2}),
            json!({"succeeded": 1}),
        ));
    }
    cases
}

fn conditions() -> Vec<Case> {
    let plain = json!({});
    let policy = json!({"completionMode": "Indexed", "completions": 1, "successPolicy": {"rules": [{"succeededCount": 1}]}});
    let indexed = json!({"completionMode": "Indexed", "completions": 1});
    let start = json!({"startTime": T0});
    let mut cases = vec![
        case("a Job completes", &plain, running(), complete()),
        case("a Job fails", &plain, running(), failed()),
        case("nothing changes", &plain, running(), running()),
        case(
            "Complete and Failed at once",
            &plain,
            start.clone(),
            with(
                complete(),
                "conditions",
                is_true(&["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"]),
            ),
        ),
        case(
            "Failed is added to Complete",
            &plain,
            complete(),
            with(
                complete(),
                "conditions",
                is_true(&["Complete", "SuccessCriteriaMet", "Failed"]),
            ),
        ),
        case(
            "Complete and Failed, unchanged",
            &plain,
            with(complete(), "conditions", is_true(&["Complete", "Failed"])),
            with(
                with(complete(), "conditions", is_true(&["Complete", "Failed"])),
                "failed",
                json!(1),
            ),
        ),
        case(
            "FailureTarget is added to Complete",
            &plain,
            complete(),
            with(
                complete(),
                "conditions",
                is_true(&["Complete", "SuccessCriteriaMet", "FailureTarget"]),
            ),
        ),
        case(
            "Failed without FailureTarget",
            &plain,
            start.clone(),
            with(failed(), "conditions", is_true(&["Failed"])),
        ),
        case(
            "Failed with FailureTarget False",
            &plain,
            start.clone(),
            with(
                failed(),
                "conditions",
                condition(&[("Failed", "True"), ("FailureTarget", "False")]),
            ),
        ),
        case(
            "Failed without FailureTarget, unchanged",
            &plain,
            with(failed(), "conditions", is_true(&["Failed"])),
            with(
                with(failed(), "conditions", is_true(&["Failed"])),
                "failed",
                json!(2),
            ),
        ),
        case(
            "Failed without FailureTarget as failedIndexes change",
            &indexed,
            with(failed(), "conditions", is_true(&["Failed"])),
            with(
                with(failed(), "conditions", is_true(&["Failed"])),
                "failedIndexes",
                json!("0"),
            ),
        ),
        case(
            "Complete without SuccessCriteriaMet",
            &plain,
            start.clone(),
            with(complete(), "conditions", is_true(&["Complete"])),
        ),
        case(
            "Complete by a success policy without SuccessCriteriaMet",
            &policy,
            start.clone(),
            with(complete(), "conditions", is_true(&["Complete"])),
        ),
        case(
            "Complete by a success policy",
            &policy,
            start.clone(),
            complete(),
        ),
        case(
            "SuccessCriteriaMet with a success policy",
            &policy,
            start.clone(),
            json!({"startTime": T0, "conditions": is_true(&["SuccessCriteriaMet"])}),
        ),
        case(
            "SuccessCriteriaMet without a success policy",
            &indexed,
            start.clone(),
            json!({"startTime": T0, "conditions": is_true(&["SuccessCriteriaMet"])}),
        ),
        case(
            "SuccessCriteriaMet with Failed",
            &plain,
            failed(),
            with(
                failed(),
                "conditions",
                is_true(&["FailureTarget", "Failed", "SuccessCriteriaMet"]),
            ),
        ),
        case(
            "SuccessCriteriaMet is taken back",
            &plain,
            json!({"conditions": is_true(&["SuccessCriteriaMet"])}),
            json!({"conditions": condition(&[("SuccessCriteriaMet", "False")])}),
        ),
        case(
            "SuccessCriteriaMet after Complete",
            &plain,
            with(complete(), "conditions", is_true(&["Complete"])),
            complete(),
        ),
        case(
            "all terminal conditions are taken back",
            &plain,
            json!({"conditions": is_true(&["Complete", "Failed", "FailureTarget"])}),
            json!({}),
        ),
        case(
            "Suspended comes and goes",
            &plain,
            json!({"conditions": is_true(&["Suspended"])}),
            json!({"conditions": condition(&[("Suspended", "False")])}),
        ),
        case(
            "a condition twice, once True",
            &plain,
            start.clone(),
            with(
                complete(),
                "conditions",
                condition(&[
                    ("Complete", "False"),
                    ("Complete", "True"),
                    ("SuccessCriteriaMet", "True"),
                    ("SuccessCriteriaMet", "Unknown"),
                ]),
            ),
        ),
        case(
            "one of two entries is taken back",
            &plain,
            json!({"conditions": is_true(&["FailureTarget", "FailureTarget"])}),
            json!({"conditions": condition(&[("FailureTarget", "True"), ("FailureTarget", "False")])}),
        ),
        case(
            "conditions are null",
            &plain,
            failed(),
            json!({"startTime": T0, "failed": 1, "conditions": null}),
        ),
        case(
            "a condition is null",
            &plain,
            start.clone(),
            json!({"startTime": T0, "conditions": [null]}),
        ),
        case(
            "unknown types and statuses",
            &plain,
            start.clone(),
            json!({"startTime": T0, "conditions": condition(&[("complete", "True"), ("Complete", "true"), ("Acme", "True"), ("Failed", "Unknown")])}),
        ),
        case("the status is null", &plain, running(), Value::Null),
    ];
    for terminal in ["Failed", "Complete", "FailureTarget"] {
        cases.push(case(
            &format!("{terminal} is removed"),
            &plain,
            json!({"conditions": is_true(&[terminal])}),
            json!({"conditions": []}),
        ));
        cases.push(case(
            &format!("{terminal} becomes Unknown"),
            &plain,
            json!({"conditions": is_true(&[terminal])}),
            json!({"conditions": condition(&[(terminal, "Unknown")])}),
        ));
    }
    cases
}

fn times() -> Vec<Case> {
    let plain = json!({});
    let suspended = json!({"suspend": true});
    let nothing = json!({"suspend": true, "completions": 0});
    let zero = json!({"completions": 0});
    let resumed = |from: &str, to: &str| {
        (
            json!({"startTime": from, "conditions": is_true(&["Suspended"])}),
            json!({"startTime": to, "conditions": condition(&[("Suspended", "False")])}),
        )
    };
    let (old, new) = resumed(T0, T1);
    let mut cases = vec![
        case(
            "completionTime while running",
            &plain,
            running(),
            with(running(), "completionTime", json!(T1)),
        ),
        case(
            "completionTime of a Job that fails",
            &plain,
            running(),
            with(failed(), "completionTime", json!(T1)),
        ),
        case(
            "completionTime is missing",
            &plain,
            running(),
            with(complete(), "completionTime", Value::Null),
        ),
        case(
            "completionTime is removed",
            &plain,
            complete(),
            with(complete(), "completionTime", Value::Null),
        ),
        case(
            "completionTime before startTime",
            &plain,
            running(),
            with(complete(), "completionTime", json!("2025-12-31T23:59:59Z")),
        ),
        case(
            "completionTime before startTime by offset",
            &plain,
            running(),
            with(
                complete(),
                "completionTime",
                json!("2026-01-01T00:30:00+01:00"),
            ),
        ),
        case(
            "completionTime at startTime",
            &plain,
            running(),
            with(complete(), "completionTime", json!(T0)),
        ),
        case(
            "completionTime before startTime by a fraction",
            &plain,
            json!({"startTime": "2026-01-01T00:00:00.5Z"}),
            with(
                with(complete(), "startTime", json!("2026-01-01T00:00:00.5Z")),
                "completionTime",
                json!("2026-01-01T00:00:00.25Z"),
            ),
        ),
        case(
            "completionTime changes",
            &plain,
            complete(),
            with(complete(), "completionTime", json!("2026-01-01T00:02:00Z")),
        ),
        case(
            "completionTime changes its offset",
            &plain,
            complete(),
            with(
                complete(),
                "completionTime",
                json!("2026-01-01T02:01:00+02:00"),
            ),
        ),
        case(
            "completionTime changes by a fraction",
            &plain,
            complete(),
            with(
                complete(),
                "completionTime",
                json!("2026-01-01T00:01:00.000000001Z"),
            ),
        ),
        case(
            "startTime is missing at the end",
            &plain,
            json!({}),
            with(complete(), "startTime", Value::Null),
        ),
        case(
            "startTime is missing at the end of a suspended Job",
            &suspended,
            json!({}),
            with(complete(), "startTime", Value::Null),
        ),
        case(
            "startTime is missing at the end of a suspended Job with no completions",
            &nothing,
            json!({}),
            with(complete(), "startTime", Value::Null),
        ),
        case(
            "startTime is missing at the end of a Job with no completions",
            &zero,
            json!({}),
            with(complete(), "startTime", Value::Null),
        ),
        case(
            "startTime is set",
            &plain,
            json!({}),
            json!({"startTime": T0}),
        ),
        case(
            "startTime changes while running",
            &plain,
            json!({"startTime": T0}),
            json!({"startTime": T1}),
        ),
        case(
            "startTime changes its offset while running",
            &plain,
            json!({"startTime": T0}),
            json!({"startTime": "2026-01-01T01:00:00+01:00"}),
        ),
        case(
            "startTime is removed while running",
            &plain,
            json!({"startTime": T0}),
            json!({}),
        ),
        case(
            "startTime changes while suspended",
            &suspended,
            json!({"startTime": T0}),
            json!({"startTime": T1}),
        ),
        case(
            "startTime is removed while suspended",
            &suspended,
            json!({"startTime": T0}),
            json!({}),
        ),
        case("startTime changes on resume", &plain, old, new),
        case(
            "startTime changes as Suspended is dropped",
            &plain,
            json!({"startTime": T0, "conditions": is_true(&["Suspended"])}),
            json!({"startTime": T1}),
        ),
        case(
            "startTime changes after completion",
            &plain,
            complete(),
            with(complete(), "startTime", json!("2026-01-01T00:00:30Z")),
        ),
        case(
            "a time that is Go's zero",
            &plain,
            json!({"startTime": T0}),
            json!({"startTime": "0001-01-01T00:00:00Z"}),
        ),
    ];
    for text in [
        "yesterday",
        "2026-01-01",
        "2026-13-01T00:00:00Z",
        "2026-01-01T0:00:00Z",
        "2026-01-01T00:00:00,5Z",
        "2026-01-01T00:00:00+24:60",
        "",
    ] {
        cases.push(case(
            &format!("startTime written as {text:?}"),
            &plain,
            json!({}),
            json!({"startTime": text}),
        ));
    }
    cases.push(case(
        "startTime a number",
        &plain,
        json!({}),
        json!({"startTime": 0}),
    ));
    cases
}

fn indexes() -> Vec<Case> {
    let limited = json!({"completionMode": "Indexed", "completions": 10, "parallelism": 10, "backoffLimitPerIndex": 1});
    let unlimited = json!({"completionMode": "Indexed", "completions": 10, "parallelism": 10});
    let plain = json!({"completions": 10});
    let open = json!({"parallelism": 2});
    let mut cases = Vec::new();
    for text in [
        "",
        "0",
        "9",
        "10",
        "00",
        "+1",
        "-1",
        "1-",
        "-",
        "--",
        "1-2-3",
        "0,1",
        "1,0",
        "1,1",
        "0-2,2-4",
        "0-2,3-4",
        "3-1",
        "2-2",
        "0-9",
        "0-10",
        "1,,2",
        ",",
        "1,",
        "a",
        "1.0",
        "0x1",
        "1_0",
        " 1",
        "1 ",
        "1;2",
        "١",
        "99999999999",
        "9223372036854775807",
        "9223372036854775808",
        "<&>\u{0}\"",
    ] {
        let changed = |field: &str| json!({field: text});
        cases.push(case(
            &format!("completedIndexes {text:?}"),
            &limited,
            json!({"completedIndexes": "5"}),
            changed("completedIndexes"),
        ));
        cases.push(case(
            &format!("failedIndexes {text:?}"),
            &limited,
            json!({}),
            changed("failedIndexes"),
        ));
        cases.push(case(
            &format!("failedIndexes {text:?} beside completed ones"),
            &limited,
            json!({}),
            json!({"completedIndexes": "0,3-4", "failedIndexes": text}),
        ));
    }
    for (completed, failed) in [
        ("0-3", "3-5"),
        ("3-5", "0-3"),
        ("0,2,4", "1,3,5"),
        ("0,2,4", "1,3-4"),
        ("a,2", "2"),
        ("2", "a,2"),
        ("5,1", "1"),
        ("1", "5,1"),
        ("0-9", "4"),
    ] {
        cases.push(case(
            &format!("completed {completed} and failed {failed}"),
            &limited,
            json!({}),
            json!({"completedIndexes": completed, "failedIndexes": failed}),
        ));
    }
    cases.push(case(
        "overlap, unchanged",
        &limited,
        json!({"completedIndexes": "1", "failedIndexes": "1"}),
        json!({"completedIndexes": "1", "failedIndexes": "1", "failed": 1}),
    ));
    cases.push(case(
        "bad indexes, unchanged",
        &limited,
        json!({"completedIndexes": "x"}),
        json!({"completedIndexes": "x", "failed": 1}),
    ));
    cases.push(case(
        "completedIndexes of a NonIndexed Job",
        &plain,
        json!({}),
        json!({"completedIndexes": "1"}),
    ));
    cases.push(case(
        "bad completedIndexes of a NonIndexed Job",
        &plain,
        json!({}),
        json!({"completedIndexes": "x"}),
    ));
    cases.push(case(
        "completedIndexes of a Job without completions",
        &open,
        json!({}),
        json!({"completedIndexes": "x", "failedIndexes": "x"}),
    ));
    cases.push(case(
        "failedIndexes without a limit",
        &unlimited,
        json!({}),
        json!({"failedIndexes": "<1"}),
    ));
    cases.push(case(
        "empty failedIndexes without a limit",
        &unlimited,
        json!({}),
        json!({"failedIndexes": ""}),
    ));
    cases.push(case(
        "failedIndexes become null",
        &unlimited,
        json!({"failedIndexes": "1"}),
        json!({"failedIndexes": null}),
    ));
    cases
}

fn uncounted() -> Vec<Case> {
    let plain = json!({});
    let pods = |succeeded: Value, failed: Value| json!({"uncountedTerminatedPods": {"succeeded": succeeded, "failed": failed}});
    let finished = |pods: Value| with(failed(), "uncountedTerminatedPods", pods);
    vec![
        case(
            "uncounted pods",
            &plain,
            json!({}),
            pods(json!(["a", "b"]), json!(["c"])),
        ),
        case(
            "an uncounted pod twice in a list",
            &plain,
            json!({}),
            pods(json!(["a", "a"]), json!([])),
        ),
        case(
            "an uncounted pod in both lists",
            &plain,
            json!({}),
            pods(json!(["a"]), json!(["b", "a"])),
        ),
        case(
            "uncounted pods of every sort of bad",
            &plain,
            json!({}),
            pods(json!(["", "a", "a", "<é>"]), json!(["a", "", "<é>", null])),
        ),
        case(
            "uncounted pods, bad and unchanged",
            &plain,
            pods(json!([""]), json!([])),
            pods(json!([""]), json!([])),
        ),
        case(
            "uncounted pods of a Job that fails",
            &plain,
            running(),
            finished(json!({"succeeded": ["a"], "failed": ["b", "<c>"]})),
        ),
        case(
            "uncounted pods of one list of a Job that fails",
            &plain,
            running(),
            finished(json!({"failed": ["b"]})),
        ),
        case(
            "uncounted pods of a Job that fails, one list empty",
            &plain,
            running(),
            finished(json!({"succeeded": [], "failed": ["b"]})),
        ),
        case(
            "uncounted pods of a Job that fails, one list null",
            &plain,
            running(),
            finished(json!({"succeeded": ["b"], "failed": null})),
        ),
        case(
            "empty lists of uncounted pods of a Job that fails",
            &plain,
            running(),
            finished(json!({"succeeded": [], "failed": []})),
        ),
        case(
            "no lists of uncounted pods of a Job that fails",
            &plain,
            running(),
            finished(json!({})),
        ),
        case(
            "uncounted pods of a finished Job, unchanged",
            &plain,
            finished(json!({"failed": ["b"]})),
            with(finished(json!({"failed": ["b"]})), "failed", json!(2)),
        ),
        case(
            "uncounted pods of a finished Job, an empty list added",
            &plain,
            finished(json!({"failed": ["b"]})),
            finished(json!({"succeeded": [], "failed": ["b"]})),
        ),
        case(
            "uncounted pods come to a finished Job",
            &plain,
            failed(),
            finished(json!({"failed": ["b"]})),
        ),
    ]
}

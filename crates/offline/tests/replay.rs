//! Recorded history, replayed: the requests and the verdicts are those of the recordings' own reader, and what cannot be
//! judged says why.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

use managed_by::{Release, ReleaseSet, Settings};
use managed_by_conformance::trace::{self, CUSTOM, JOBS};
use managed_by_offline::replay::{Said, Step, Tally};
use managed_by_offline::{Asks, Judge, Releases, Replay, Why, complete};
use serde_json::{Value, json};

fn replay(judge: Judge<'_>, chunks: &[&str]) -> (Tally, Vec<Step>) {
    let mut replay = Replay::new(judge);
    let mut steps = Vec::new();
    let mut lines = 0;
    for chunk in chunks {
        lines += replay.chunk(chunk.as_bytes(), 0, lines, |step| steps.push(step));
    }
    (replay.tally().clone(), steps)
}

fn default_judge() -> Judge<'static> {
    Judge::new(Settings::default(), Releases::Chosen)
}

fn stream(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/traces/");
    std::fs::read_to_string(format!("{folder}{name}.ndjson")).unwrap()
}

/// What the library says to each request of a stream, by line.
fn asked(name: &str, judge: &Judge<'_>) -> Vec<(u64, String, bool)> {
    let requests = trace::requests(name).unwrap().into_iter().zip(1..);
    requests
        .filter(|(case, _)| case.operation != "DELETE")
        .filter_map(|(case, line)| {
            let judgement = judge.ask(case.request().to_string().as_bytes()).unwrap();
            let what = format!("{}{}", case.operation, case.sub_resource);
            (!judgement.is_quiet()).then_some((line, what, judgement.is_allowed))
        })
        .collect()
}

fn told(steps: &[Step]) -> Vec<(u64, String, bool)> {
    let found = steps.iter().filter_map(|step| match &step.said {
        Said::Found(request) => {
            let what = format!(
                "{}{}",
                request.asks.operation(),
                request.asks.sub_resource()
            );
            Some((step.seen.line, what, request.judgement.is_allowed))
        }
        Said::Unjudged(_) => None,
    });
    found.collect()
}

/// kube-apiserver writes an event on one line, kubectl over many, others in another order: that makes no difference.
#[test]
fn the_layout_of_an_event_does_not_matter() {
    let text = stream("jobs-1.36");
    let events: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let judge = || Judge::new(Settings::for_release(Release::V1_30), Releases::Chosen);
    let told_of = |text: &str| {
        let (tally, steps) = replay(judge(), &[text]);
        let messages = steps.into_iter().map(|step| (step.object, step.said));
        (tally.denied, tally.documents, messages.collect::<Vec<_>>())
    };
    let written = told_of(&text);
    assert!(written.0 > 20, "{}", written.0);
    let laid_out = |event: &Value| format!("{event:#}\n");
    assert_eq!(
        told_of(&events.iter().map(laid_out).collect::<String>()),
        written
    );
    let turned = |event: &Value| {
        let (object, of_type) = (&event["object"], &event["type"]);
        format!("{{\"object\":{object},\"type\":{of_type}}}\n")
    };
    assert_eq!(
        told_of(&events.iter().map(turned).collect::<String>()),
        written
    );
}

/// What a history says, with its lines.
fn said(text: &str) -> Vec<(u64, String)> {
    let (_, steps) = replay(default_judge(), &[text]);
    let said = steps.into_iter().map(|step| match step.said {
        Said::Unjudged(unjudged) => (step.seen.line, unjudged.text),
        Said::Found(request) => (
            step.seen.line,
            request.judgement.message.unwrap_or_default(),
        ),
    });
    said.collect()
}

#[test]
fn what_only_begins_like_an_event_is_none() {
    let job = |uid: &str| json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi", "uid": uid}, "spec": {"managedBy": "x"}});
    let event = |uid: &str| format!("{{\"type\":\"ADDED\",\"object\":{}}}", job(uid));
    let [(_, denial)] = &*said(&format!(
        "{:#}",
        json!({"type": "ADDED", "object": job("a")})
    )) else {
        panic!("one denial");
    };
    assert!(
        denial.contains("spec.managedBy: Invalid value: \"x\""),
        "{denial}"
    );
    let (object, other) = (job("a"), json!({"kind": "Pod", "apiVersion": "v1"}));
    for (text, expected) in [
        (event("a"), vec![&**denial]),
        (format!("{}\r\n", event("a")), vec![denial]),
        (format!("\u{feff}{}", event("a")), vec![denial]),
        (
            format!("{}{}", event("a"), event("b")),
            vec![denial, denial],
        ),
        (
            format!("{{\"type\":\"ADDED\",\"object\": {object} }} \n"),
            vec![denial],
        ),
        (
            format!("{{\"type\":\"ADDED\",\"object\":{object},\"object\":{other}}}"),
            vec![],
        ),
        (
            format!("{{\"type\":\"ADDED\",\"object\":{object},\"type\":\"NONE\"}}"),
            vec!["a watch event of a type other than ADDED, MODIFIED, DELETED, BOOKMARK and ERROR"],
        ),
        (
            format!("{{\"type\":\"ADDED\",\"object\":{object}"),
            vec!["not JSON: EOF while parsing an object"],
        ),
        (
            format!("{{\"type\":\"ADDED\",\"object\":[{object}]}}"),
            vec!["not JSON: expected an object"],
        ),
    ] {
        let told = said(&text);
        let told: Vec<_> = told.iter().map(|(_, text)| &**text).collect();
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn trouble_is_told_with_its_line() {
    let healthy = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n";
    for (text, line, expected) in [
        (
            "{\n  \"type\": \"ADDED\",\n  \"object\" 1\n}\n",
            3,
            "not JSON: expected `:`",
        ),
        ("{\"type\":\"MODI\n", 1, "not JSON: a string without an end"),
        (
            "{\"type\":\"MODIFIED\",\n\"object\":{\n\n",
            2,
            "not JSON: EOF while parsing an object",
        ),
        ("{\"type\":1,}\n", 1, "not JSON: trailing comma"),
        ("{\"a\":1\n", 1, "not JSON: EOF while parsing an object"),
        (
            "{\"kind\":\"Pod\"}\n[1]\n",
            2,
            "not JSON: expected an object",
        ),
        (
            "{\"kind\":\"JobList\",\"apiVersion\":\"batch/v1\",\"items\":{}}\n",
            1,
            "a list whose items are no array",
        ),
        (
            "{\"kind\":\"Job\",\"apiVersion\":\"a\tb\"}\n",
            1,
            "not JSON: control character (\\u0000-\\u001F) found while parsing a string",
        ),
    ] {
        let told = vec![(line, expected.to_owned())];
        assert_eq!(said(text), told, "{text}");
        assert_eq!(said(&format!("{text}{healthy}")), told, "{text}");
    }
}

#[test]
fn every_recording_gives_the_requests_that_it_was_made_of() {
    let mut denied = 0;
    for release in [Release::V1_30, Release::V1_36] {
        let judge = || Judge::new(Settings::for_release(release), Releases::Chosen);
        for name in JOBS.iter().chain(&CUSTOM) {
            let text = stream(name);
            let (tally, steps) = replay(judge(), &[&text]);
            assert_eq!(told(&steps), asked(name, &judge()), "{name}");
            assert_eq!(tally.unjudged_count(), 0, "{name}: {steps:?}");
            assert_eq!(usize::try_from(tally.documents), Ok(text.lines().count()));
            denied += tally.denied;
        }
    }
    assert_eq!(denied, 103, "as the vectors say of 1.30");
}

/// Chunks, layout and lists are one and the same history.
#[test]
fn how_a_history_is_cut_and_laid_out_does_not_matter() {
    let text = stream("child-jobs");
    let judge = || Judge::new(Settings::default(), Releases::Each(ReleaseSet::all()));
    let (whole, steps) = replay(judge(), &[&text]);
    assert_eq!(whole.denied, 22, "by 1.30 alone");

    let (half, _) = text.as_bytes().split_at(text.len() / 2);
    let (first, second) = text.split_at(complete(half, false));
    let (halves, steps_of_halves) = replay(judge(), &[first, second]);
    assert_eq!((&halves, &steps_of_halves), (&whole, &steps));

    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let (single, steps_of_single) = replay(judge(), &lines);
    assert_eq!((&single, &steps_of_single), (&whole, &steps));

    // A watch that begins anew: what was seen is not judged again.
    let alive: String = text.split_inclusive('\n').take(60).collect();
    let (once, _) = replay(judge(), &[&alive]);
    let last = alive.lines().last().unwrap().replace("MODIFIED", "ADDED");
    let (again, _) = replay(judge(), &[&alive, &last]);
    assert_eq!((again.denied, again.judged), (once.denied, once.judged));
}

fn job(version: u64, managed_by: Option<&str>, status: Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "pi", "namespace": "a", "uid": "u1", "resourceVersion": version.to_string()},
        "spec": {"managedBy": managed_by},
        "status": status,
    })
}

fn event(name: &str, object: &Value) -> String {
    json!({"type": name, "object": object}).to_string() + "\n"
}

fn unjudged(text: &str) -> Vec<(Why, u64, String)> {
    let (_, steps) = replay(default_judge(), &[text]);
    let unjudged = steps.into_iter().filter_map(|step| match step.said {
        Said::Unjudged(unjudged) => Some((unjudged.why, step.seen.line, unjudged.text)),
        Said::Found(_) => None,
    });
    unjudged.collect()
}

#[test]
fn what_cannot_be_judged_says_why_and_costs_nothing_else() {
    let added = event("ADDED", &job(5, None, json!({})));
    let changed = event("MODIFIED", &job(6, Some("a.io/x"), json!({})));
    for (between, why, text) in [
        ("{\"type\":\"MODI\n", Why::NotJson, "not JSON: "),
        ("d\":\"x\"}}\n", Why::NotJson, "not JSON: "),
        (
            "{\"a\":1}\n",
            Why::Unknown,
            "expected an object, a watch event",
        ),
        (
            "{\"type\":\"X\",\"object\":{}}\n",
            Why::Unknown,
            "a watch event of a type other",
        ),
        (
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"too old resource version\"}}\n",
            Why::WatchError,
            "the watch ended with an error: too old resource version",
        ),
        (
            &event("MODIFIED", &job(4, None, json!({}))),
            Why::OutOfOrder,
            "out of order: resourceVersion 4 after 5",
        ),
        (
            &event("MODIFIED", &{
                let mut other = job(5, None, json!({}));
                other["metadata"]["uid"] = "u2".into();
                other
            }),
            Why::SeenFirst,
            "seen first in the middle of its life",
        ),
        (
            "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\",\"stage\":\"ResponseComplete\",\
             \"verb\":\"update\",\"objectRef\":{\"resource\":\"jobs\",\"apiGroup\":\"batch\"},\"responseStatus\":{\"code\":200}}\n",
            Why::NoObject,
            "an audit event of level Metadata holds no object",
        ),
        (
            &event("MODIFIED", &{
                let mut bad = job(5, None, json!({}));
                bad["metadata"]["uid"] = "u3".into();
                bad["spec"]["managedBy"] = 5.into();
                bad
            })
            .replace("MODIFIED", "ADDED"),
            Why::Malformed,
            "object.spec.managedBy: expected ",
        ),
    ] {
        let text_of = format!("{added}{between}{changed}");
        let all = unjudged(&text_of);
        let [(got, line, said)] = &*all else {
            panic!("{between}: {all:?}");
        };
        assert_eq!((*got, *line), (why, 2), "{between}");
        assert!(said.starts_with(text), "{said}");
        let (tally, _) = replay(default_judge(), &[&text_of]);
        assert_eq!((tally.denied, tally.judged), (1, 2), "{between}");
    }
}

#[test]
fn what_a_healthy_watch_has_is_no_trouble() {
    let text = [
        event("ADDED", &job(5, None, json!({}))),
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"resourceVersion\":\"9\"}}}\r\n".to_owned(),
        event("DELETED", &job(10, None, json!({}))),
        // The next one of that name is another object.
        event("ADDED", &job(11, Some("a.io/x"), json!({}))),
        "\n\n".to_owned(),
        event("ADDED", &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})),
    ]
    .concat();
    let (tally, steps) = replay(default_judge(), &[&text]);
    assert_eq!(steps, []);
    assert_eq!((tally.judged, tally.denied), (2, 0));
    assert_eq!(tally.unknown.get("Pod"), Some(&1));
}

fn audit(verb: &str, user: &str, sub: Option<&str>, code: u16, object: Value) -> String {
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
        "requestURI": "/apis/batch/v1/namespaces/a/jobs/pi", "verb": verb,
        "user": {"username": user, "groups": ["system:authenticated"]},
        "objectRef": {"resource": "jobs", "namespace": "a", "name": "pi", "apiGroup": "batch", "subresource": sub},
        "responseStatus": {"code": code}, "responseObject": object,
        "requestReceivedTimestamp": "2026-11-21T05:00:00.000000Z",
    })
    .to_string()
        + "\n"
}

/// An audit log says who wrote, so that the rules about writers are judged too.
#[test]
fn an_audit_log_keeps_its_users() {
    let settings = json!({"controllers": {"a.io/x": {"status_writers": ["runner"]}}}).to_string();
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let active = |n: u64| json!({"active": n, "ready": 0, "startTime": "2026-11-21T05:00:00Z"});
    let text = [
        audit(
            "create",
            "ana",
            None,
            201,
            job(5, Some("a.io/x"), json!({})),
        ),
        audit(
            "update",
            "runner",
            Some("status"),
            200,
            job(6, Some("a.io/x"), active(1)),
        ),
        audit(
            "patch",
            "ana",
            Some("status"),
            200,
            job(7, Some("a.io/x"), active(2)),
        ),
        audit("patch", "ana", None, 422, json!({"kind": "Status"})),
        audit("get", "ana", None, 200, job(7, Some("a.io/x"), active(2))),
        audit(
            "delete",
            "ana",
            None,
            200,
            json!({"kind": "Status", "details": {"uid": "u1"}}),
        ),
        audit(
            "update",
            "ana",
            None,
            200,
            job(9, Some("a.io/x"), active(2)),
        ),
    ]
    .concat();
    let (tally, steps) = replay(Judge::new(settings, Releases::Chosen), &[&text]);
    let Said::Found(request) = &steps[0].said else {
        panic!("{steps:?}");
    };
    assert_eq!(steps[0].seen.line, 3);
    assert_eq!(
        steps[0].seen.time.as_deref(),
        Some("2026-11-21T05:00:00.000000Z")
    );
    assert_eq!(request.user.as_deref(), Some("ana"));
    assert_eq!(request.asks, Asks::UpdateStatus);
    assert_eq!(
        request.judgement.findings[0].rule.id(),
        "status-writer/delegated"
    );
    assert_eq!((tally.judged, tally.denied, tally.refused), (3, 1, 1));
    // After the deletion nobody knows what was updated.
    assert_eq!(tally.unjudged, [(Why::SeenFirst, 1)]);
    let (_, row) = &tally.rows[0];
    assert_eq!((row.count, row.user.as_deref()), (1, Some("ana")));
    assert_eq!(row.object.to_string(), "Job.batch a/pi");
}

/// A Job that finished before its API server knew the rules of 1.31.
fn finished(version: u64) -> Value {
    let condition = json!({"type": "Complete", "status": "True"});
    let status = json!({
        "conditions": [condition], "startTime": "2026-11-21T05:00:00Z", "completionTime": "2026-11-21T05:01:00Z", "succeeded": 1,
    });
    job(version, None, status)
}

/// The first event of a watch, and an item of a list, shows an object as it is stored. Nobody asks for it.
#[test]
fn what_is_stored_is_no_denied_request() {
    let list = |job: Value| {
        json!({"apiVersion": "batch/v1", "kind": "JobList", "items": [job]}).to_string()
    };
    for text in [
        event("ADDED", &finished(5)),
        list(finished(5)),
        format!("{:#}", finished(5)),
    ] {
        let judge = Judge::new(Settings::for_release(Release::V1_37), Releases::Chosen);
        let (tally, steps) = replay(judge, &[&text]);
        assert_eq!(
            (tally.judged, tally.denied, tally.warned),
            (0, 0, 0),
            "{text}"
        );
        assert_eq!((tally.stored, tally.stored_found), (1, 1), "{text}");
        let Said::Found(found) = &steps[0].said else {
            panic!("{steps:?}");
        };
        assert_eq!(found.asks, Asks::Stored);
        assert_eq!(
            (found.judgement.is_allowed, &found.judgement.message),
            (true, &None)
        );
        let rule = "job-status/complete-without-success-criteria-met";
        assert_eq!(found.judgement.findings[0].rule.id(), rule);
        let (key, row) = &tally.rows[0];
        assert_eq!((key.rule, key.is_stored, row.count), (rule, true, 1));
    }
    // What comes without a status may well be created now.
    let (tally, _) = replay(
        default_judge(),
        &[&event("ADDED", &job(5, Some("x"), json!({})))],
    );
    assert_eq!((tally.judged, tally.denied, tally.stored), (1, 1, 0));
}

/// The requests of a history, as JSON.
fn requests(text: &str) -> Vec<Value> {
    let mut requests = Vec::new();
    let mut replay = Replay::new(default_judge());
    replay.requests(text.as_bytes(), 0, 0, |_, request| {
        requests.push(serde_json::to_value(request).unwrap());
    });
    requests
}

/// One event that changes the status and the rest is an update of each.
#[test]
fn a_change_of_the_status_and_the_rest_is_two_requests() {
    let status = |failed: u64| json!({"failed": failed});
    let old = job(5, Some("a.io/x"), status(2));
    let new = job(6, Some("b.io/y"), status(1));
    let between = job(6, Some("b.io/y"), status(2));
    let text = event("ADDED", &old) + &event("MODIFIED", &new);
    // In chunks of its own, the old state is kept as text.
    for chunks in [
        &[&*text][..],
        &text.split_inclusive('\n').collect::<Vec<_>>(),
    ] {
        let judge = Judge::new(Settings::for_release(Release::V1_37), Releases::Chosen);
        let (tally, steps) = replay(judge, chunks);
        assert_eq!((tally.stored, tally.judged, tally.denied), (1, 2, 2));
        let told: Vec<_> = steps
            .iter()
            .map(|step| match &step.said {
                Said::Found(found) => (
                    found.asks,
                    step.seen.line,
                    found.judgement.findings[0].rule.id(),
                ),
                Said::Unjudged(unjudged) => panic!("{unjudged:?}"),
            })
            .collect();
        assert_eq!(
            told,
            [
                (Asks::Update, 2, "managed-by/immutable"),
                (Asks::UpdateStatus, 2, "job-status/failed-decreased"),
            ]
        );
    }
    let [_, update, of_status] = &*requests(&text) else {
        panic!("three requests");
    };
    assert_eq!((&update["object"], &update["oldObject"]), (&between, &old));
    assert_eq!(update.get("subResource"), None);
    assert_eq!(
        (&of_status["object"], &of_status["oldObject"]),
        (&new, &between)
    );
    assert_eq!(of_status["subResource"], "status");

    // Labels are a part of the rest; what the API server counts is not.
    for (member, value, count) in [
        ("labels", json!({"a": "b"}), 2),
        ("annotations", json!({"a": "b"}), 2),
        ("generation", 2.into(), 1),
        (
            "managedFields",
            json!([{"time": "2026-11-21T05:00:00Z"}]),
            1,
        ),
    ] {
        let mut new = job(6, Some("a.io/x"), status(3));
        new["metadata"][member] = value;
        let text = event("ADDED", &old) + &event("MODIFIED", &new);
        let (tally, _) = replay(default_judge(), &[&text]);
        assert_eq!((tally.judged, tally.denied), (count, 0), "{member}");
    }
}

/// What an audit log calls a create brings no status: the API server has dropped it.
#[test]
fn a_create_of_an_audit_log_has_no_status() {
    let text = audit("create", "ana", None, 201, finished(5));
    let judge = Judge::new(Settings::for_release(Release::V1_37), Releases::Chosen);
    let (tally, steps) = replay(judge, &[&text]);
    assert_eq!(
        (tally.judged, tally.denied, tally.stored),
        (1, 0, 0),
        "{steps:?}"
    );
    let [request] = &*requests(&text) else {
        panic!("one request");
    };
    assert_eq!(request["object"].get("status"), None);
}

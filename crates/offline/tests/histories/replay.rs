//! Replays recorded histories. Requests and verdicts must match the recorder's own reader, and records that cannot be
//! evaluated must have a reason.

use std::collections::{BTreeMap, BTreeSet};

use managed_by::{Enforcement, Release, ReleaseSet, Settings};
use managed_by_offline::replay::{RowKey, Said, Step, Tally};
use managed_by_offline::{Found, Judge, Replay, complete};
use managed_by_parity::trace::{self, CUSTOM, JOBS};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::with;

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
    Judge::new(Settings::default(), None)
}

fn stream(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parity/traces/");
    std::fs::read_to_string(format!("{folder}{name}.ndjson")).unwrap()
}

/// Returns the rules found in each request of a stream, by line.
fn asked(name: &str, judge: &Judge<'_>) -> Vec<(u64, String, bool)> {
    let requests = trace::requests(name).unwrap().into_iter().zip(1..);
    requests
        .filter(|(case, _)| case.operation != "DELETE")
        .filter_map(|(case, line)| {
            let judgement = judge.ask(case.request().to_string().as_bytes()).unwrap();
            let what = format!("{}{}", case.operation, case.sub_resource);
            (!judgement.is_quiet()).then_some((line, what, judgement.decision.is_allowed()))
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
            let is_allowed = request.judgement.decision.is_allowed();
            Some((step.seen.line, what, is_allowed))
        }
        Said::Unjudged(_) => None,
    });
    found.collect()
}

/// Checks that layout makes no difference: kube-apiserver writes an event on one line, kubectl over many, other programs
/// in another order.
#[test]
fn the_layout_of_an_event_does_not_matter() {
    let text = stream("jobs-1.36");
    let events: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let judge = || Judge::new(Settings::for_release(Release::V1_30), None);
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

#[derive(Deserialize)]
struct Cases {
    job: Value,
    audit: Value,
    histories: Vec<Case>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Case {
    settings: Value,
    log: Vec<Value>,
    told: Vec<String>,
    judged: u64,
    denied: u64,
    warned: u64,
    stored: u64,
    stored_found: u64,
    refused: u64,
    unknown: Vec<String>,
}

/// Formats a step as in the cases.
fn in_a_line(step: &Step) -> String {
    let line = step.seen.line;
    let found = match &step.said {
        Said::Unjudged(unjudged) => {
            return format!("{line} {}: {}", unjudged.why.as_str(), unjudged.text);
        }
        Said::Found(found) => found,
    };
    let mut text = format!("{line} {}", found.asks.operation());
    let (sub, stored) = (found.asks.sub_resource(), found.asks.is_stored());
    let stored = if stored { "stored" } else { "" };
    for word in [sub, stored].iter().filter(|word| !word.is_empty()) {
        text.extend([" ", word]);
    }
    for (word, what) in [(" by ", &found.user), (" at ", &step.seen.time)] {
        text.extend(what.iter().flat_map(|what| [word, what]));
    }
    for finding in &found.judgement.findings {
        let word = finding.enforcement.as_str();
        text.extend([": ", word, " ", finding.rule.id()]);
    }
    text
}

#[test]
fn each_history_is_told() {
    let cases: Cases = crate::cases(include_str!("replay.yml"));
    for case in cases.histories {
        let entry = |entry: &Value| match entry {
            Value::String(text) => text.replace("JOB", &cases.job.to_string()),
            entry => {
                let (what, changes) = entry.as_object().unwrap().iter().next().unwrap();
                match &**what {
                    "audit" => format!("{}\n", with(&cases.audit, changes)),
                    what => event(what, &with(&cases.job, changes)),
                }
            }
        };
        let parts: Vec<String> = case.log.iter().map(entry).collect();
        let settings = case.settings.to_string();
        let judge = || {
            let settings = Settings::from_json(settings.as_bytes()).unwrap();
            Judge::new(settings, None)
        };
        let text = parts.concat();
        let (tally, steps) = replay(judge(), &[&text]);
        let told: Vec<_> = steps.iter().map(in_a_line).collect();
        assert_eq!(told, case.told, "{case:?}");
        let sums = [
            tally.judged,
            tally.denied,
            tally.warned,
            tally.stored,
            tally.stored_found,
            tally.refused,
        ];
        let expected = [
            case.judged,
            case.denied,
            case.warned,
            case.stored,
            case.stored_found,
            case.refused,
        ];
        assert_eq!(sums, expected, "{case:?}");
        let unknown: Vec<_> = case.unknown.iter().map(|kind| (kind.clone(), 1)).collect();
        assert_eq!(tally.unknown, unknown, "{case:?}");
        let mut unjudged = BTreeMap::new();
        let mut rows = BTreeSet::new();
        for step in &steps {
            let asked = match &step.said {
                Said::Unjudged(of) => {
                    *unjudged.entry(of.why).or_default() += 1;
                    continue;
                }
                Said::Found(asked) => asked,
            };
            rows.extend(asked.judgement.findings.iter().map(|found| RowKey {
                kind: step.object.kind_and_group(),
                rule: found.rule.id(),
                is_denied: found.enforcement == Enforcement::Deny,
                is_stored: asked.asks.is_stored(),
            }));
        }
        assert_eq!(tally.unjudged, Vec::from_iter(unjudged), "{case:?}");
        assert!(tally.rows.iter().map(|(key, _)| key).eq(&rows), "{case:?}");
        let found: Vec<_> = steps
            .iter()
            .filter_map(|step| match &step.said {
                Said::Found(found) => Some((step, found)),
                Said::Unjudged(_) => None,
            })
            .collect();
        for (_, found) in &found {
            // A stored object is never denied.
            let is_stored = found.asks.is_stored();
            let is_allowed = found.judgement.decision.is_allowed();
            assert_eq!(is_allowed, is_stored, "{found:?}");
        }
        for (key, row) in &tally.rows {
            let of_row = found.iter().filter(|(_, found)| {
                let is_found = |of: &Found| of.rule.id() == key.rule;
                found.asks.is_stored() == key.is_stored
                    && found.judgement.findings.iter().any(is_found)
            });
            let (first, asked) = of_row.clone().next().unwrap();
            assert_eq!((&row.first, &row.object), (&first.seen, &first.object));
            assert_eq!((row.count, &row.user), (of_row.count() as u64, &asked.user));
        }
        // Chunk boundaries and later documents must not change the steps.
        if case.log.iter().all(Value::is_object) {
            let parts: Vec<_> = parts.iter().map(|part| &**part).collect();
            assert_eq!(replay(judge(), &parts), (tally, steps.clone()), "{case:?}");
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let healthy = format!("{text}{end}{{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}\n");
        let (_, with_more) = replay(judge(), &[&healthy]);
        assert_eq!(with_more, steps, "{case:?}");
    }
}

#[test]
fn every_recording_gives_the_requests_that_it_was_made_of() {
    let mut denied = 0;
    for release in [Release::V1_30, Release::V1_36] {
        let judge = || Judge::new(Settings::for_release(release), None);
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

/// Checks that chunks, layout and lists do not change the results.
#[test]
fn how_a_history_is_cut_and_laid_out_does_not_matter() {
    let text = stream("child-jobs");
    let judge = || Judge::new(Settings::default(), Some(ReleaseSet::all()));
    let (whole, steps) = replay(judge(), &[&text]);
    assert_eq!(whole.denied, 22, "by 1.30 alone");

    let (half, _) = text.as_bytes().split_at(text.len() / 2);
    let (first, second) = text.split_at(complete(half, false));
    let (halves, steps_of_halves) = replay(judge(), &[first, second]);
    assert_eq!((&halves, &steps_of_halves), (&whole, &steps));

    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let (single, steps_of_single) = replay(judge(), &lines);
    assert_eq!((&single, &steps_of_single), (&whole, &steps));

    // After a watch restarts, known states are not evaluated again.
    let alive: String = text.split_inclusive('\n').take(60).collect();
    let (once, _) = replay(judge(), &[&alive]);
    let last = alive.lines().last().unwrap().replace("MODIFIED", "ADDED");
    let (again, _) = replay(judge(), &[&alive, &last]);
    assert_eq!((again.denied, again.judged), (once.denied, once.judged));
}

fn event(name: &str, object: &Value) -> String {
    json!({"type": name, "object": object}).to_string() + "\n"
}

/// Returns the requests of a history, as JSON.
fn requests(text: &str) -> Vec<Value> {
    let mut requests = Vec::new();
    let mut replay = Replay::new(default_judge());
    let (parts, _) = managed_by_offline::parts(text.as_bytes(), 0, 0);
    replay.requests(&parts, 0, |_, request| {
        requests.push(serde_json::to_value(request.unwrap()).unwrap());
    });
    requests
}

/// Checks that an event with changes in both the status and the rest becomes two requests with an intermediate state, and
/// that a create has no status.
#[test]
fn a_request_is_written_as_the_library_reads_it() {
    let Cases { job, audit, .. } = crate::cases(include_str!("replay.yml"));
    let job = |managed_by: &str, failed: u64| {
        with(
            &job,
            &json!({"spec": {"managedBy": managed_by}, "status": {"failed": failed}}),
        )
    };
    let (old, new) = (job("a.io/x", 2), job("b.io/y", 1));
    let new = with(&new, &json!({"metadata": {"resourceVersion": "6"}}));
    let between = with(&new, &json!({"status": {"failed": 2}}));
    let text = event("ADDED", &old) + &event("MODIFIED", &new);
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
    let create = json!({"verb": "create", "responseStatus": {"code": 201}, "responseObject": new});
    let [request] = &*requests(&with(&audit, &create).to_string()) else {
        panic!("one request");
    };
    assert_eq!(request["object"].get("status"), None);
}

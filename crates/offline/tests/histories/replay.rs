//! Replays recorded histories. Requests and verdicts must match `managed_by_parity::trace`, a second reader of the same recordings.
//! Records that cannot be evaluated must have a reason.

use std::collections::{BTreeMap, BTreeSet};

use managed_by::{AdmissionRequest, Enforcement, Finding, Release, Settings};
use managed_by_offline::replay::{Step, StepResult, Tally, TallyRowKey};
use managed_by_offline::{Evaluator, Replay, split_documents};
use managed_by_parity::trace::{self, CUSTOM, JOBS};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::merge_patch;

fn replay(evaluator: Evaluator<'_>, chunks: &[&str]) -> (Tally, Vec<Step>) {
    let mut replay = Replay::new(evaluator);
    let mut steps = Vec::new();
    let mut lines = 0;
    for chunk in chunks {
        let (documents, more) = split_documents(chunk.as_bytes(), 0, lines);
        replay.evaluate_documents(&documents, 0, |step| steps.push(step));
        lines += more;
    }
    (replay.tally().clone(), steps)
}

fn stream(name: &str) -> String {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parity/traces/");
    std::fs::read_to_string(format!("{directory}{name}.ndjson")).unwrap()
}

/// Returns line, operation and decision (true if allowed) of each request with findings in a stream.
fn expected_steps(name: &str, evaluator: &Evaluator<'_>) -> Vec<(u64, String, bool)> {
    let requests = trace::requests(name).unwrap().into_iter().zip(1..);
    requests
        .filter(|(case, _)| case.operation != "DELETE")
        .filter_map(|(case, line)| {
            let request = case.request().to_string();
            let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
            let report = evaluator.evaluate(&request).unwrap();
            let what = format!("{}{}", case.operation, case.sub_resource);
            (!report.is_empty()).then_some((line, what, report.verdict.decision.is_allowed()))
        })
        .collect()
}

fn summaries(steps: &[Step]) -> Vec<(u64, String, bool)> {
    let found = steps.iter().filter_map(|step| match &step.result {
        StepResult::Evaluated(request) => {
            let what = format!(
                "{}{}",
                request.operation.as_str(),
                request.operation.subresource()
            );
            let is_allowed = request.report.verdict.decision.is_allowed();
            Some((step.position.line, what, is_allowed))
        }
        StepResult::Rejected(_) | StepResult::Skipped(_) => None,
    });
    found.collect()
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
    steps: Vec<String>,
    evaluated: u64,
    denied: u64,
    warned: u64,
    stored: u64,
    stored_with_findings: u64,
    rejected: u64,
    transient_rejections: u64,
    unsupported: Vec<String>,
}

/// Formats a step as in the cases.
fn format_step(step: &Step) -> String {
    let line = step.position.line;
    let found = match &step.result {
        StepResult::Skipped(record) => {
            return format!("{line} {}: {}", record.reason, record.text);
        }
        StepResult::Rejected(found) => {
            let (operation, code) = (found.operation, found.code);
            let (verb, sub) = (operation.as_str(), operation.subresource());
            let result = match &found.report {
                Ok(report) => report.findings.iter().map(|f| f.rule.id()).collect(),
                Err(reason) => format!("not evaluated: {reason}"),
            };
            return format!(
                "{line} {verb} {sub} rejected with {code} {:?}: {result}",
                found.message
            );
        }
        StepResult::Evaluated(found) => found,
    };
    let mut text = format!("{line} {}", found.operation.as_str());
    let (sub, stored) = (found.operation.subresource(), found.operation.is_stored());
    let stored = if stored { "stored" } else { "" };
    for word in [sub, stored].iter().filter(|word| !word.is_empty()) {
        text.extend([" ", word]);
    }
    for (word, what) in [(" by ", &found.user), (" at ", &step.position.time)] {
        text.extend(what.iter().flat_map(|what| [word, what]));
    }
    for finding in &found.report.findings {
        let word = finding.enforcement.as_str();
        text.extend([": ", word, " ", finding.rule.id()]);
    }
    text
}

#[test]
fn histories_match_their_expected_steps() {
    let cases: Cases = crate::cases(include_str!("replay.yml"));
    for case in cases.histories {
        let entry = |entry: &Value| match entry {
            Value::String(text) => text.replace("JOB", &cases.job.to_string()),
            entry => {
                let (what, changes) = entry.as_object().unwrap().iter().next().unwrap();
                match &**what {
                    "audit" => format!("{}\n", merge_patch(&cases.audit, changes)),
                    what => event(what, &merge_patch(&cases.job, changes)),
                }
            }
        };
        let parts: Vec<String> = case.log.iter().map(entry).collect();
        let settings = case.settings.to_string();
        let evaluator = || {
            let settings = Settings::from_json(settings.as_bytes()).unwrap();
            Evaluator::new(settings, None)
        };
        let text = parts.concat();
        let (tally, steps) = replay(evaluator(), &[&text]);
        let lines: Vec<_> = steps.iter().map(format_step).collect();
        assert_eq!(lines, case.steps, "{case:?}");
        let unsupported = case.unsupported.iter().map(|kind| (kind.clone(), 1));
        let expected = Tally {
            evaluated: case.evaluated,
            denied: case.denied,
            warned: case.warned,
            stored: case.stored,
            stored_with_findings: case.stored_with_findings,
            rejected: case.rejected,
            transient_rejections: case.transient_rejections,
            unsupported: unsupported.collect(),
            ..tally.clone()
        };
        assert_eq!(tally, expected, "{case:?}");
        let mut skipped = BTreeMap::new();
        let mut rows = BTreeSet::new();
        for step in &steps {
            match &step.result {
                StepResult::Skipped(record) => *skipped.entry(record.reason).or_default() += 1,
                StepResult::Evaluated(request) => {
                    rows.extend(request.report.findings.iter().map(|found| TallyRowKey {
                        kind: step.object.kind_and_group(),
                        rule: found.rule.id(),
                        is_denied: found.enforcement == Enforcement::Deny,
                        is_stored: request.operation.is_stored(),
                    }));
                }
                StepResult::Rejected(_) => {}
            }
        }
        assert_eq!(tally.skipped, skipped, "{case:?}");
        assert!(tally.rows.keys().eq(&rows), "{case:?}");
        let found: Vec<_> = steps
            .iter()
            .filter_map(|step| match &step.result {
                StepResult::Evaluated(found) => Some((step, found)),
                StepResult::Rejected(_) | StepResult::Skipped(_) => None,
            })
            .collect();
        for (_, found) in &found {
            // A stored object is never denied.
            let is_stored = found.operation.is_stored();
            let is_allowed = found.report.verdict.decision.is_allowed();
            assert_eq!(is_allowed, is_stored, "{found:?}");
        }
        for (key, row) in &tally.rows {
            let in_row = found.iter().filter(|(_, found)| {
                let is_found = |finding: &Finding| finding.rule.id() == key.rule;
                found.operation.is_stored() == key.is_stored
                    && found.report.findings.iter().any(is_found)
            });
            let (first, request) = in_row.clone().next().unwrap();
            assert_eq!((&row.first, &row.object), (&first.position, &first.object));
            assert_eq!(
                (row.count, &row.user),
                (in_row.count() as u64, &request.user)
            );
        }
        // Chunk boundaries and later documents must not change the steps.
        if case.log.iter().all(Value::is_object) {
            let parts: Vec<_> = parts.iter().map(|part| &**part).collect();
            assert_eq!(
                replay(evaluator(), &parts),
                (tally, steps.clone()),
                "{case:?}"
            );
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let healthy = format!("{text}{end}{{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}\n");
        let (_, with_more) = replay(evaluator(), &[&healthy]);
        assert_eq!(with_more, steps, "{case:?}");
    }
}

#[test]
fn replay_matches_the_parity_reader() {
    let mut denied = 0;
    for release in [Release::V1_30, Release::V1_36] {
        let evaluator = || Evaluator::new(Settings::for_release(release), None);
        for name in JOBS.iter().chain(&CUSTOM) {
            let text = stream(name);
            let (tally, steps) = replay(evaluator(), &[&text]);
            assert_eq!(
                summaries(&steps),
                expected_steps(name, &evaluator()),
                "{name}"
            );
            assert_eq!(tally.skipped_count(), 0, "{name}: {steps:?}");
            assert_eq!(usize::try_from(tally.documents), Ok(text.lines().count()));
            denied += tally.denied;
        }
    }
    assert_eq!(denied, 103, "denied requests under 1.30 and 1.36");
}

/// Checks that a request without findings, but with a part that was not evaluated, is reported and counts as no warning.
#[test]
fn unchecked_parts_are_no_warnings() {
    let settings = br#"{"rules":{"managed-by/template":"off"}}"#;
    let evaluator = Evaluator::new(Settings::from_json(settings).unwrap(), None);
    let job = json!({"name": "a", "template": {"spec": {"managedBy": "acme.io/runner"}}});
    let set = json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a", "uid": "1"},
        "spec": {"replicatedJobs": vec![job; 1001]},
    });
    let (tally, steps) = replay(evaluator, &[&event("ADDED", &set)]);
    let [
        Step {
            result: StepResult::Evaluated(request),
            ..
        },
    ] = &steps[..]
    else {
        panic!("{steps:?}");
    };
    assert_eq!(request.report.unchecked.len(), 1);
    assert_eq!(
        (
            tally.evaluated + tally.stored,
            tally.warned,
            tally.stored_with_findings
        ),
        (1, 0, 0)
    );
}

fn event(name: &str, object: &Value) -> String {
    json!({"type": name, "object": object}).to_string() + "\n"
}

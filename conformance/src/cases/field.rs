//! The field through an object's life: added, changed, removed, and of the wrong type.

use serde_json::{Value, json};

use super::{Field, create, cron_job, job, update};
use crate::vector::Case;

fn values() -> Vec<(&'static str, Field)> {
    vec![
        ("unset", Field::Absent),
        ("null", Field::Is(Value::Null)),
        ("reserved", Field::string("kubernetes.io/job-controller")),
        ("multikueue", Field::string("kueue.x-k8s.io/multikueue")),
        ("acme", Field::string("acme.io/runner")),
        ("html", Field::string("acme.io/a&b")),
        ("empty", Field::string("")),
        ("no slash", Field::string("typo")),
        (
            "bad host and path",
            Field::string("Acme.io/<é>\u{0}\u{7f}\u{2028}"),
        ),
        (
            "too long",
            Field::string(&format!("acme.io/{}", "x".repeat(56))),
        ),
        (
            "bad and too long",
            Field::string(&format!("-.io/{} ", "x".repeat(70))),
        ),
    ]
}

fn is_valid(name: &str) -> bool {
    ["unset", "null", "reserved", "multikueue", "acme", "html"].contains(&name)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, field) in values() {
        cases.push(create(format!("create: Job with {name}"), job(&field)));
        cases.push(create(
            format!("create: CronJob with {name}"),
            cron_job(&field),
        ));
    }
    for (from, old) in values() {
        for (to, new) in values() {
            let unset = |name: &str| ["unset", "null"].contains(&name);
            let kept = from == to || (unset(from) && unset(to));
            // What upstream says to a value that is bad and unchanged, it says on every update.
            let topic = if kept && !is_valid(to) {
                "ratchet"
            } else {
                "update"
            };
            let name = |kind| format!("{topic}: {kind} from {from} to {to}");
            cases.push(update(name("Job"), job(&old), job(&new)));
            cases.push(update(name("CronJob"), cron_job(&old), cron_job(&new)));
        }
    }
    cases.extend(status_updates());
    cases.extend(wrong_types());
    cases.extend(missing_parts());
    cases
}

/// kube-apiserver keeps the old spec on a status update, so the field in the new object does not count.
fn status_updates() -> impl Iterator<Item = Case> {
    let pairs = [
        ("acme", "multikueue"),
        ("acme", "unset"),
        ("empty", "empty"),
        ("unset", "no slash"),
    ];
    let field = |wanted: &str| {
        values()
            .into_iter()
            .find(|(n, _)| *n == wanted)
            .map(|(_, f)| job(&f))
    };
    pairs.into_iter().filter_map(move |(from, to)| {
        let name = format!("status: Job from {from} to {to}");
        let mut case = update(name, field(from)?, field(to)?);
        "status".clone_into(&mut case.sub_resource);
        Some(case)
    })
}

fn wrong_types() -> Vec<Case> {
    let values = [
        ("number", json!(1)),
        ("boolean", json!(true)),
        ("object", json!({})),
        ("array", json!(["acme.io/runner"])),
    ];
    let mut cases = Vec::new();
    for (name, value) in values {
        let field = Field::Is(value);
        cases.push(create(
            format!("wrong type: Job with a {name}"),
            job(&field),
        ));
        cases.push(create(
            format!("wrong type: CronJob with a {name}"),
            cron_job(&field),
        ));
        cases.push(update(
            format!("wrong type: Job from unset to a {name}"),
            job(&Field::Absent),
            job(&field),
        ));
    }
    cases
}

/// Objects that lack what they should have are refused by upstream for reasons of its own; the decoder takes them.
fn missing_parts() -> Vec<Case> {
    let spec_is = |value: Value| {
        let mut object = job(&Field::Absent);
        if let Some(spec) = object.pointer_mut("/spec") {
            *spec = value;
        }
        object
    };
    let mut wrong = vec![create(
        "wrong type: Job with an array for a spec".to_owned(),
        spec_is(json!([])),
    )];
    wrong.push(create(
        "wrong type: Job with a string for a spec".to_owned(),
        spec_is(json!("x")),
    ));
    wrong
}

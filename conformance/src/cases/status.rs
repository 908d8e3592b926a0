//! The status of a Job: each rule on its own, at its edges, and where releases differ.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::vector::Case;

/// Upstream's own table (`TestStatusStrategy_ValidateUpdate`, 1.37), row by row under its names: what the Job was, and
/// what is written.
const UPSTREAM: &str = include_str!("upstream_status.ndjson");

/// Rows of our own: counters, conditions, times, indexes, uncounted pods.
const OURS: &str = include_str!("status.ndjson");

#[derive(Deserialize)]
struct Row {
    name: String,
    spec: Value,
    old: Value,
    new: Value,
    /// The spec that the update brings along, if it is another one.
    #[serde(default)]
    new_spec: Option<Value>,
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
    rows("upstream", UPSTREAM)
        .chain(rows("status", OURS))
        .collect()
}

#[expect(
    clippy::expect_used,
    reason = "rows that do not parse must not go unnoticed"
)]
fn rows(prefix: &str, text: &'static str) -> impl Iterator<Item = Case> {
    text.lines().map(move |line| {
        let row: Row = serde_json::from_str(line).expect("a row");
        let name = format!("{prefix}: {}", row.name);
        let mut case = status_update(name, &row.spec, row.old, row.new);
        if let (Some(spec), Some(object)) = (row.new_spec, case.object.as_object_mut()) {
            object.insert("spec".to_owned(), spec);
        }
        case
    })
}

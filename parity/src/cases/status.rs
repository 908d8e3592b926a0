//! Cases for the status of a Job: each rule, its boundary values, and differences between releases.

use serde::Deserialize;
use serde_json::Value;

use crate::job::status_update;
use crate::vector::Case;

/// Rows of upstream's table test `TestStatusStrategy_ValidateUpdate` (1.37), with its names.
const UPSTREAM: &str = include_str!("upstream_status.ndjson");

/// This project's rows: counters, conditions, times, indexes, uncounted pods.
const PROJECT: &str = include_str!("status.ndjson");

#[derive(Deserialize)]
struct Row {
    name: String,
    spec: Value,
    old: Value,
    new: Value,
    /// Spec in the update, if it differs from the stored one.
    #[serde(default)]
    new_spec: Option<Value>,
}

pub(super) fn cases() -> Vec<Case> {
    rows("upstream", UPSTREAM)
        .chain(rows("status", PROJECT))
        .collect()
}

#[expect(
    clippy::expect_used,
    reason = "rows that do not parse must fail the build of the vectors"
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

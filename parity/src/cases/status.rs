//! Cases for the status of a Job: each rule, its boundary values, and differences between releases.

use serde::Deserialize;
use serde_json::{Value, json};

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
    let rows = text.lines().flat_map(|line| {
        // A list of texts of indexes, or a row.
        let texts = serde_json::from_str::<Vec<String>>(line);
        texts.map_or_else(
            |_| vec![serde_json::from_str::<Row>(line).expect("a row")],
            |texts| texts.iter().flat_map(|text| index_rows(text)).collect(),
        )
    });
    rows.map(move |row| {
        let name = format!("{prefix}: {}", row.name);
        let mut case = status_update(name, &row.spec, row.old, row.new);
        if let (Some(spec), Some(object)) = (row.new_spec, case.object.as_object_mut()) {
            object.insert("spec".to_owned(), spec);
        }
        case
    })
}

/// Returns the rows of a text of indexes: of completed ones, of failed ones, and of failed ones beside completed ones.
fn index_rows(text: &str) -> [Row; 3] {
    let row = |name: String, old: Value, new: Value| Row {
        name,
        spec: json!({"backoffLimitPerIndex": 1, "completionMode": "Indexed", "completions": 10, "parallelism": 10}),
        old,
        new,
        new_spec: None,
    };
    [
        row(
            format!("completedIndexes {text:?}"),
            json!({"completedIndexes": "5"}),
            json!({"completedIndexes": text}),
        ),
        row(
            format!("failedIndexes {text:?}"),
            json!({}),
            json!({"failedIndexes": text}),
        ),
        row(
            format!("failedIndexes {text:?} beside completed ones"),
            json!({}),
            json!({"completedIndexes": "0,3-4", "failedIndexes": text}),
        ),
    ]
}

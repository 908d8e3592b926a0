//! Writes the table of fields in the spec of a Job, which `job-spec/immutable-field` reads, from kube-apiserver's types and defaults.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use managed_by::Release;
use serde::Deserialize;
use serde_json::Value;

use crate::vector::is_patch;

pub(crate) const TABLE: &str = include_str!("../../crates/managed-by/src/rule/job_spec/fields.txt");

/// Release of a field that is dropped by default in all releases.
const NEVER: u8 = 99;

/// A field, as `oracle/fields.go` prints it.
#[derive(Deserialize)]
struct Row {
    r#struct: String,
    field: String,
    r#type: String,
    #[serde(default)]
    key: String,
    default: Option<Value>,
    #[serde(default)]
    dropped: bool,
}

pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/managed-by/src/rule/job_spec/fields.txt")
}

/// Returns the table: a struct per line, with its fields as `name:type`, then `/key` if the elements of the list have one, `@minor` if
/// older releases than that one lack the field or drop it, and `=default`.
pub fn table() -> Result<String> {
    let mut known: BTreeMap<(String, String), (u8, String, String)> = BTreeMap::new();
    let releases = Release::ALL.iter().filter(|release| !is_patch(**release));
    for release in releases {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("oracle/bin")
            .join(release.as_str());
        let output = Command::new(program).arg("fields").output();
        let output = output.context("make oracle builds it")?.stdout;
        let mut found = BTreeMap::new();
        for row in serde_json::Deserializer::from_slice(&output).into_iter::<Row>() {
            let row = row?;
            let key = if row.key.is_empty() {
                row.key
            } else {
                format!("/{}", row.key)
            };
            let of = row.r#type + &key;
            let default = row.default.map(|value| match value.as_str() {
                Some("by-image") => "=by-image".to_owned(),
                _ => format!("={value}"),
            });
            let default = default.unwrap_or_default();
            let name = (row.r#struct, row.field);
            let before = known.get(&name).filter(|(since, ..)| *since != NEVER);
            let since = match before {
                _ if row.dropped => NEVER,
                None => release.minor(),
                Some((since, before, default_before)) => {
                    let is_same = (before, default_before) == (&of, &default);
                    ensure!(is_same, "{release}: {name:?} was {before}{default_before}");
                    *since
                }
            };
            found.insert(name, (since, of, default));
        }
        ensure!(!found.is_empty(), "{release}: no fields");
        known = found;
    }
    let mut text = String::new();
    let mut last = String::new();
    for ((structure, field), (since, of, default)) in known {
        if structure != last {
            let end = if last.is_empty() { "" } else { "\n" };
            write!(text, "{end}{structure}")?;
            last = structure;
        }
        let is_oldest = Release::ALL
            .first()
            .is_some_and(|oldest| oldest.minor() == since);
        let since = if is_oldest {
            String::new()
        } else {
            format!("@{since}")
        };
        write!(text, " {field}:{of}{since}{default}")?;
    }
    text.push('\n');
    Ok(text)
}

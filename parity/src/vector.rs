//! The format of the committed vectors: a case with its results, one JSON object per line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use managed_by::{Kind, Release};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A write by a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// Unique description of the case.
    pub name: String,
    /// CREATE or UPDATE; in traces also DELETE.
    pub operation: String,
    /// Subresource, empty for the main resource.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sub_resource: String,
    pub object: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_object: Option<Value>,
}

/// Result of upstream's code for a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidationResult {
    /// Releases with this result, such as `1.37`. Patch releases such as `1.33.5` only if the next release has another result.
    pub releases: Vec<String>,
    /// Errors on the fields that this project validates, in upstream's order, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Message for the client.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// True if upstream could not decode an object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub malformed: bool,
}

/// An error of upstream's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldError {
    pub field: String,
    /// Complete error text.
    pub error: String,
}

/// A case with the results of all releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    pub case: Case,
    /// Results, each for some releases. Empty for a new case until `make update-parity` writes them.
    #[serde(default)]
    pub results: Vec<ValidationResult>,
}

impl Case {
    /// Builds the admission request that a webhook would get.
    pub fn request(&self) -> Value {
        let text = |pointer: &str| self.object.pointer(pointer).cloned().unwrap_or_default();
        let kind = text("/kind");
        let api_version = text("/apiVersion");
        let api_version = api_version.as_str().unwrap_or("batch/v1");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let known = Kind::find(group, version, kind.as_str().unwrap_or_default());
        let resource = known.map_or("jobs", |kind| kind.plural());
        let mut request = json!({
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": resource},
            "operation": self.operation,
            "name": text("/metadata/name"),
            "namespace": text("/metadata/namespace"),
            "userInfo": {"username": "kubernetes-admin", "groups": ["system:authenticated"]},
            "object": self.object,
        });
        if let Some(members) = request.as_object_mut() {
            if let Some(old) = &self.old_object {
                members.insert("oldObject".to_owned(), old.clone());
            }
            if !self.sub_resource.is_empty() {
                members.insert("subResource".to_owned(), self.sub_resource.clone().into());
            }
        }
        request
    }
}

impl Vector {
    pub fn result(&self, release: Release) -> Option<&ValidationResult> {
        let mut newer = Release::ALL.iter().filter(|newer| **newer >= release);
        newer.find_map(|newer| {
            let has_release =
                |a: &&ValidationResult| a.releases.iter().any(|r| r == newer.as_str());
            self.results.iter().find(has_release)
        })
    }
}

/// Returns true if the minor release has newer patch releases with other rules.
pub(crate) fn is_patch(release: Release) -> bool {
    release.as_str().matches('.').count() > 1
}

/// Names of the vector files.
pub const FILES: [&str; 6] = [
    "managed-by-format.ndjson",
    "managed-by-field.ndjson",
    "job-status.ndjson",
    "job-status-generated.ndjson",
    "job-spec.ndjson",
    "job-spec-generated.ndjson",
];

pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

pub fn read(file: &str) -> Result<Vec<Vector>> {
    read_lines(&directory().join(file))
}

/// Reads a file with one JSON value per line.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let name = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(name)?;
    let parse = |line| serde_json::from_str(line).with_context(name);
    text.lines().map(parse).collect()
}

/// Reads all committed vectors.
pub fn all() -> Result<Vec<Vector>> {
    let files = FILES.into_iter().map(read);
    let files: Vec<_> = files.collect::<Result<_>>()?;
    Ok(files.concat())
}

/// Returns the text of a file with one JSON value per line.
pub fn to_lines<T: Serialize>(values: &[T]) -> Result<String> {
    let line = |value| Ok(serde_json::to_string(value)? + "\n");
    values.iter().map(line).collect()
}

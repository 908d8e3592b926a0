//! Shared code of tests and tools. `xtask` generates files from the same code as the tests that check them.

#![expect(clippy::missing_errors_doc, reason = "the error says what failed")]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize as _;
use serde_json::Value;

pub mod admission;
pub mod chart;
pub mod cluster;
pub mod examples;
pub mod expected;
pub mod library;
pub mod metadata;
pub mod module;
pub mod objects;
mod policy;
pub mod readme;
pub mod releases;

pub use policy::{Cost, Host, Policy, SettingsValidationResponse};

/// Returns the path of a file or directory in this repository.
pub fn root(path: impl AsRef<Path>) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// Reads a text file of this repository.
pub fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root(path)).with_context(|| path.to_owned())
}

/// Reads the documents of a YAML text.
pub fn yaml_documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let documents = serde_yaml_ng::Deserializer::from_str(text).map(Value::deserialize);
    Ok(documents.collect::<Result<_, _>>()?)
}

pub const SETTINGS_SCHEMA: &str = "docs/settings.schema.json";

pub const VALUES_SCHEMA: &str = "charts/managed-by-policy/values.schema.json";

/// Settings that are values of their own in the chart, with the names of these values. The others are in the value `settings`.
pub const VALUES: [(&str, &str); 5] = [
    ("role", "role"),
    ("kubernetes_version", "kubernetesVersion"),
    ("controllers", "controllers"),
    ("namespaces", "namespaces"),
    ("exempt", "exempt"),
];

/// Metadata, UI questions and Artifact Hub package of each published policy.
pub const PUBLISHED: [[&str; 3]; 2] = [
    [
        "policy-metadata.yml",
        "questions-ui.yml",
        "artifacthub-pkg.yml",
    ],
    [
        "pods/metadata.yml",
        "pods/questions-ui.yml",
        "pods/artifacthub-pkg.yml",
    ],
];

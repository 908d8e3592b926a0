//! Kubewarden's policy metadata, and its annotation in a module.
//!
//! The Makefile annotates the built modules, and tests compare manifests with the metadata.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use wasm_encoder::{CustomSection, Encode as _, Section as _};

use crate::module::METADATA_SECTION;
use crate::{Policy, module};

/// Annotation that contains the README.
const USAGE: &str = "io.kubewarden.policy.usage";

/// Metadata of a policy, as Kubewarden documents them. Unknown keys are errors, because Kubewarden would silently ignore misspelled ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// Protocol version, set by [`annotate`] from the module's response.
    #[serde(default)]
    pub protocol_version: Option<String>,
    pub rules: Vec<WebhookRule>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    pub mutating: bool,
    pub background_audit: bool,
    #[serde(default)]
    pub context_aware_resources: Vec<Resource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_capabilities: Vec<String>,
    pub execution_mode: String,
    /// Policy type, `kubernetes`.
    pub policy_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_kubewarden_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookRule {
    pub api_groups: Vec<String>,
    pub api_versions: Vec<String>,
    /// Plural names, with subresources such as `jobs/status`.
    pub resources: Vec<String>,
    pub operations: Vec<String>,
}

/// A resource that a context-aware policy can look up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resource {
    pub api_version: String,
    pub kind: String,
}

impl Metadata {
    /// Parses metadata from YAML, such as `policy-metadata.yml`.
    pub fn from_yaml(yaml: &str) -> Result<Self> {
        serde_yaml_ng::from_str(yaml).context("metadata")
    }
}

/// Adds metadata to a module, like `kwctl annotate`, with the module's protocol version and the usage text.
pub fn annotate(wasm: &[u8], mut metadata: Metadata, usage: &str) -> Result<Vec<u8>> {
    let is_annotated = module::metadata(wasm)?.is_some();
    ensure!(!is_annotated, "the module is annotated already");
    let version = Policy::load_unannotated(wasm)?.protocol_version()?;
    metadata.protocol_version = version.as_str().map(str::to_owned);
    metadata
        .annotations
        .insert(USAGE.to_owned(), usage.to_owned());
    let json = serde_json::to_vec(&metadata)?;
    let section = CustomSection {
        name: Cow::Borrowed(METADATA_SECTION),
        data: Cow::Owned(json),
    };
    let mut annotated = wasm.to_vec();
    annotated.push(section.id());
    section.encode(&mut annotated);
    Ok(annotated)
}

//! What Kubewarden must know about a policy before it runs it, and how a module comes to carry it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use managed_by_testing::module::METADATA_SECTION;
use managed_by_testing::{Policy, module};
use serde::{Deserialize, Serialize};
use wasm_encoder::{CustomSection, Encode as _, Section as _};

/// The annotation that carries the README.
const USAGE: &str = "io.kubewarden.policy.usage";

/// A policy's metadata, with the keys that Kubewarden reads. A key that it does not know is refused here, because a
/// misspelt one would be lost in silence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// Set when a module is annotated, from its own answer.
    #[serde(default)]
    pub protocol_version: Option<String>,
    /// Which requests the policy wants to see.
    pub rules: Vec<Rule>,
    /// Title, author, source and so on.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Whether the policy changes objects.
    pub mutating: bool,
    /// Whether the audit scanner runs it.
    #[serde(default = "default_background_audit")]
    pub background_audit: bool,
    /// The resources that it may look up.
    #[serde(default)]
    pub context_aware_resources: Vec<Resource>,
    /// What else it may ask the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_capabilities: Vec<String>,
    /// How it is called.
    #[serde(default = "default_execution_mode")]
    pub execution_mode: String,
    /// What it is called with.
    #[serde(default = "default_policy_type")]
    pub policy_type: String,
    /// The oldest Kubewarden that it works with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_kubewarden_version: Option<String>,
}

/// Requests that a policy wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// API groups.
    pub api_groups: Vec<String>,
    /// Versions.
    pub api_versions: Vec<String>,
    /// Plural names, subresources as `jobs/status`.
    pub resources: Vec<String>,
    /// CREATE, UPDATE, DELETE, CONNECT.
    pub operations: Vec<String>,
}

/// A resource that a context-aware policy may look up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resource {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}

fn default_background_audit() -> bool {
    true
}

fn default_execution_mode() -> String {
    "kubewarden-wapc".to_owned()
}

fn default_policy_type() -> String {
    "kubernetes".to_owned()
}

impl Metadata {
    /// Reads `policy-metadata.yml`.
    ///
    /// # Errors
    /// If it is not YAML, or not of that form.
    pub fn from_yaml(yaml: &str) -> Result<Self> {
        serde_yaml_ng::from_str(yaml).context("metadata")
    }
}

/// The module with its metadata, as `kwctl annotate` adds it: the protocol version that the module answers, and the
/// README as usage.
///
/// # Errors
/// If the module has metadata already, or does not answer its protocol version.
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

//! Shared code of tests and tools: the examples ([`examples`]), the library's answers ([`judge`], [`answers`]), and the built module in a
//! wasm engine ([`Policy`]).

use std::path::{Path, PathBuf};

pub mod admission;
pub mod answers;
pub mod examples;
pub mod judge;
pub mod module;
mod policy;

pub use policy::{Cost, GuestSettingsVerdict, Host, Policy};

/// A file or folder of this repository.
pub fn root(path: impl AsRef<Path>) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// The metadata, the questions and the Artifact Hub package of each published policy.
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

/// What can go wrong between a module and its host.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine does not take the module.
    #[error("cannot load the module: {0}")]
    Load(String),
    /// PolicyServer would not start with the module.
    #[error("Policy is missing protocol version")]
    NoProtocolVersion,
    /// The module's metadata cannot be read.
    #[error("metadata: {0}")]
    Metadata(String),
    /// The guest trapped, gave an error or took too long.
    #[error("internal server error: {0}")]
    Call(String),
    /// The guest's answer is not in Kubewarden's words.
    #[error("the policy answered something else than a verdict: {0}")]
    Answer(#[from] serde_json::Error),
    /// A request that PolicyServer would not pass on.
    #[error("cannot build AdmissionRequest object from given input: {0}")]
    Request(String),
}

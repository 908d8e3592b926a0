//! What tests, benchmarks and tools share: the examples with their answers ([`examples`]), the library's answer ([`judge`]), to every
//! request that tests ask about too ([`answers`]), and the built module's, in a wasm engine that hosts it the way Kubewarden's
//! PolicyServer does.
//!
//! As there: the module is compiled once, every request gets a fresh instance, the request is sent as compact JSON with
//! sorted keys, a call that takes too long is interrupted, and a module without metadata is refused.
//!
//! There are two engines, each behind a feature. `wasmtime` is what PolicyServer has, with all that it has there, and takes
//! minutes to build. `wasmi` takes seconds.

use std::path::{Path, PathBuf};

pub mod admission;
pub mod answers;
pub mod examples;
pub mod judge;
#[cfg(feature = "wasmtime")]
pub mod meter;
pub mod module;
mod policy;
#[cfg(feature = "wasmi")]
mod wasmi;
#[cfg(feature = "wasmtime")]
mod wasmtime;

pub use policy::{Engine, GuestSettingsVerdict, Host, Policy};

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

impl From<wapc::errors::Error> for Error {
    fn from(error: wapc::errors::Error) -> Self {
        Self::Call(error.to_string())
    }
}

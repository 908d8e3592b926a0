//! Hosts a built waPC policy in wasmtime the way Kubewarden's PolicyServer does, for tests, benchmarks and the demo.
//!
//! As there: the module is compiled once, every request gets a fresh instance, the request is sent as compact JSON with
//! sorted keys, epochs interrupt a call that takes too long, and a module without metadata is refused.

pub mod admission;
pub mod artifacthub;
pub mod demo;
pub mod examples;
pub mod metadata;
pub mod meter;
mod policy;

pub use policy::{Host, Policy, SettingsVerdict, Verdict};

/// What can go wrong between a module and its host.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// wasmtime does not take the module.
    #[error("cannot load the module: {0}")]
    Load(String),
    /// PolicyServer would not start with the module.
    #[error("Policy is missing protocol version")]
    NoProtocolVersion,
    /// The module's metadata, or the file it is made from, is not what Kubewarden reads.
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

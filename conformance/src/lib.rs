//! Cases that kube-apiserver's own code has judged: the vectors that ordinary tests run, and what makes them.

pub mod cases;
pub mod compare;
pub mod difference;
pub mod generate;
pub mod live;
pub mod oracle;
pub mod trace;
pub mod unset;
pub mod vector;
pub mod world;

/// What can go wrong while vectors are made or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a process.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// A line that is not what it should be.
    #[error("{0}: {1}")]
    Json(String, serde_json::Error),
    /// An oracle that does not keep to its protocol, or a fixture that upstream dislikes for other reasons.
    #[error("{0}")]
    Oracle(String),
}

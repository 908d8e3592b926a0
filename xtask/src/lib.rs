//! What `make` calls: the demo, the annotation of modules, and the generators. The tests call the same functions and
//! compare what they make with what is committed.

#![expect(
    clippy::indexing_slicing,
    reason = "the JSON is ours, and a tool of ours may stop at what should not be"
)]

use std::path::{Path, PathBuf};

pub mod artifacthub;
pub mod conditions;
pub mod demo;
pub mod e2e;
pub mod examples;
pub mod generated;
pub mod judge;
pub mod kinds;
pub mod metadata;
pub mod picture;
pub mod releases;
pub mod rules;
pub mod settings;
pub mod status_guide;
pub mod writers;

/// A file or folder of this repository.
pub fn root(path: impl AsRef<Path>) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).join(path)
}

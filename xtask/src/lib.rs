//! What `make` calls: the demo, the annotation of modules, and the generators. The tests call the same functions and
//! compare what they make with what is committed.

#![expect(
    clippy::indexing_slicing,
    reason = "the JSON is ours, and a tool of ours may stop at what should not be"
)]

pub mod answers;
pub mod artifacthub;
pub mod demo;
pub mod generated;
pub mod kinds;
pub mod manifests;
pub mod metadata;
pub mod releases;
pub mod rules;
pub mod settings;
pub mod status_guide;

pub use managed_by_testing::{examples, judge, root};

//! Commands behind the Makefile: the demo, the annotation of modules, and the generators.
//!
//! Tests call the generators and compare their output with the committed files.

#![expect(
    clippy::indexing_slicing,
    reason = "the JSON comes from this repository, and a development tool may panic"
)]

pub mod artifacthub;
pub mod chart;
pub mod chart_data;
pub mod chart_values;
pub mod demo;
pub mod deploy;
pub mod expected;
pub mod generated;
pub mod generators;
pub mod kinds;
pub mod metadata;
pub mod policy_metadata;
pub mod readme;
pub mod releases;
pub mod rules;
pub mod settings;
pub mod status_guide;
pub mod version;

pub use managed_by_testing::{examples, library, root};

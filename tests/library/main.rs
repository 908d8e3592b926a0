//! Tests of the library that need this repository's examples, cases and recordings. `make mutation-test` runs them against each mutant.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod all_releases;
mod cases;
mod catalog;
mod examples;
mod kinds;
mod large;
mod manifests;
mod support;
mod unchecked;

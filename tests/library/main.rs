//! Tests of the library that need the examples, cases and recordings of this repository. `make mutants` runs them against each mutant.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod cases;
mod catalogue;
mod examples;
mod generated;
mod judgement;
mod kinds;
mod large;
mod support;

//! Tests of the built module in wasmi, and of the files that ship with it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod bad_input;
mod chart;
mod costs;
mod custom_kinds;
mod deploy;
mod differential;
mod layers;
mod module;
mod pods;
mod queues;
mod rancher;
mod readme;
mod settings;
mod support;
mod traces;
mod values;

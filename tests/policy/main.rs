//! The built module in a real engine, beside the library on this machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed"
)]

mod bad_input;
mod cases;
mod catalogue;
mod conformance;
mod costs;
mod custom_kinds;
mod deploy;
mod docs;
mod doors;
mod examples;
mod generated;
mod judgement;
mod kinds;
mod large;
mod module;
mod pods;
mod settings;
mod support;
mod traces;

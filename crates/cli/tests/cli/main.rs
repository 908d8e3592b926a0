//! End-to-end tests of the program.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod blocks;
mod compressed;
mod differential;
mod formats;
mod injection;
mod integrations;
mod live;
mod pages;
mod status;
mod support;
mod transcripts;

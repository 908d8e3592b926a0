//! End-to-end tests of the program.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod differential;
mod formats;
mod live;
mod packed;
mod pages;
mod plain;
mod pull_request;
mod support;
mod transcripts;

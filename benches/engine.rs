//! The policy beside one that does nothing, in the engine, a fresh instance for each request as in PolicyServer.
//!
//! The two take turns, so that a machine that slows down slows both; what counts is the median of the differences.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a benchmark prints, and stops at what should not be"
)]

#[expect(dead_code, reason = "what is hostile is measured by fuel")]
#[path = "../tests/policy/support/payload.rs"]
mod payload;

use std::path::Path;
use std::time::{Duration, Instant};

use managed_by_testing::{Engine, Policy};

const ROUNDS: usize = 2000;

fn main() {
    let policy = load("policy.wasm");
    let noop = load("noop.wasm");
    println!("{:44}policy     no-op      ratio   own cost", "request");
    for (name, payload) in payload::all() {
        let mut ours = Vec::with_capacity(ROUNDS);
        let mut floor = Vec::with_capacity(ROUNDS);
        let mut difference = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let a = time(&policy, &payload).as_nanos().cast_signed();
            let b = time(&noop, &payload).as_nanos().cast_signed();
            ours.push(a);
            floor.push(b);
            difference.push(a.saturating_sub(b));
        }
        let (ours, floor) = (median(&mut ours), median(&mut floor));
        println!(
            "{name:42} {:>7.1} us {:>7.1} us {:>7.2} {:>7.1} us",
            ours,
            floor,
            ours / floor,
            median(&mut difference)
        );
    }
}

fn load(file: &str) -> Policy {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let wasm =
        std::fs::read(path).unwrap_or_else(|e| panic!("{file}: {e}; `make bench` builds it"));
    Policy::load_unannotated(Engine::Wasmtime, &wasm).unwrap()
}

fn time(policy: &Policy, payload: &[u8]) -> Duration {
    let start = Instant::now();
    policy.call("validate", payload).unwrap();
    start.elapsed()
}

/// In microseconds.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a call fit")]
fn median(nanoseconds: &mut [i128]) -> f64 {
    nanoseconds.sort_unstable();
    nanoseconds[nanoseconds.len() / 2] as f64 / 1000.0
}

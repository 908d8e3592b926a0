//! The library behind one function for all tests.

#[path = "../policy/support/cluster.rs"]
#[expect(dead_code, reason = "the module is tested in other clusters too")]
mod cluster;

use serde_json::Value;
use xtask::judge::judge_in;

pub(crate) use xtask::judge::{Answer, refusal, review_of};
pub(crate) use xtask::root;

/// Returns the library's answer to a request.
pub(crate) fn review(request: &Value, settings: &Value) -> Answer {
    review_with(request, &settings.to_string())
}

/// Returns the library's answer to a request with settings in a given order.
pub(crate) fn review_with(request: &Value, settings: &str) -> Answer {
    judge_in(&cluster::Played::Recorded, &request.to_string(), settings)
}

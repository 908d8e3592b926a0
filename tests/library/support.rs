//! Functions with which all tests call the library.

#[path = "../policy/support/cluster.rs"]
#[expect(dead_code, reason = "tests of the module use other clusters too")]
mod cluster;

use managed_by_testing::library::validate_in;
use serde_json::Value;

pub(crate) use managed_by_testing::library::{
    ValidationResponse, settings_error, validate_payload,
};
pub(crate) use managed_by_testing::root;

/// Returns the library's response to a request.
pub(crate) fn review(request: &Value, settings: &Value) -> ValidationResponse {
    review_with(request, &settings.to_string())
}

/// Returns the library's response to a request with settings in a given order.
pub(crate) fn review_with(request: &Value, settings: &str) -> ValidationResponse {
    validate_in(
        &cluster::FakeCluster::Recorded,
        &request.to_string(),
        settings,
    )
}

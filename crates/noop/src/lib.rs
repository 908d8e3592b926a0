//! A Kubewarden policy that accepts every request without reading it.
//!
//! Benchmarks subtract its cost to separate the SDK and the host from the policy.

use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use kubewarden_policy_sdk::wapc_guest::{self as guest, CallResult};
use kubewarden_policy_sdk::{accept_request, protocol_version_guest};

/// Registers the policy's operations.
#[expect(unsafe_code, reason = "waPC finds its entry point by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    guest::register_function("validate", validate);
    guest::register_function("validate_settings", validate_settings);
    guest::register_function("protocol_version", protocol_version_guest);
}

fn validate(_payload: &[u8]) -> CallResult {
    accept_request()
}

/// Accepts any settings. PolicyServer does not start a policy without this operation.
fn validate_settings(_payload: &[u8]) -> CallResult {
    let response = SettingsValidationResponse {
        valid: true,
        message: None,
    };
    Ok(serde_json::to_vec(&response)?)
}

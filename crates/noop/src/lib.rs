//! A policy that accepts every request unread: the least that a policy on this SDK can cost.

use kubewarden_policy_sdk::wapc_guest::{self as guest, CallResult};
use kubewarden_policy_sdk::{accept_request, protocol_version_guest};

/// Registers the policy's operations.
#[expect(unsafe_code, reason = "waPC finds its entry point by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    guest::register_function("validate", validate);
    guest::register_function("protocol_version", protocol_version_guest);
}

fn validate(_payload: &[u8]) -> CallResult {
    accept_request()
}

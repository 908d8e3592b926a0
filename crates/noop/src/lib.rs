//! A Kubewarden policy that accepts every request without reading it.
//!
//! Benchmarks subtract its cost to separate the protocol and the host from the policy.

use serde::Serialize;
use wapc_guest::{self as guest, CallResult};

/// Registers the policy's operations.
#[expect(unsafe_code, reason = "waPC finds its entry point by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    guest::register_function("validate", validate);
    guest::register_function("validate_settings", validate_settings);
    guest::register_function("protocol_version", protocol_version);
}

/// Returns the version of Kubewarden's protocol that the policy implements.
#[expect(clippy::unnecessary_wraps, reason = "the signature of an operation")]
fn protocol_version(_: &[u8]) -> CallResult {
    Ok(b"\"v1\"".to_vec())
}

/// Response of `validate`, with all members, like `accept_request` of Kubewarden's SDK.
#[derive(Default, Serialize)]
struct ValidationResponse {
    accepted: bool,
    message: Option<String>,
    code: Option<u16>,
    mutated_object: Option<String>,
    audit_annotations: Option<String>,
    warnings: Option<String>,
}

fn validate(_: &[u8]) -> CallResult {
    let response = ValidationResponse {
        accepted: true,
        ..ValidationResponse::default()
    };
    Ok(serde_json::to_vec(&response)?)
}

/// Accepts any settings. PolicyServer does not start a policy without this operation.
#[expect(clippy::unnecessary_wraps, reason = "the signature of an operation")]
fn validate_settings(_: &[u8]) -> CallResult {
    Ok(b"{\"valid\":true,\"message\":null}".to_vec())
}

//! The Kubewarden policy: translates between waPC and the `managed-by` library, and decides nothing.
//!
//! With the feature `pods` it may ask the host for Jobs. Without it the module contains no question to the host, so that
//! each module asks for what its metadata declares.
//!
//! With the feature `findings` it has two operations more, for programs that embed it (`go/`): see `findings.rs`.
//!
//! PolicyServer makes a fresh instance of this module for every request, calls `wapc_init` and then one operation.

#[cfg(feature = "pods")]
mod cluster;
#[cfg(feature = "findings")]
mod findings;
mod response;

#[cfg(feature = "pods")]
use cluster::Host as Cluster;
use kubewarden_policy_sdk::protocol_version_guest;
use kubewarden_policy_sdk::wapc_guest::{self as guest, CallResult};
#[cfg(not(feature = "pods"))]
use managed_by::Offline as Cluster;
use managed_by::{AdmissionReview, Settings, Verdict, review_in};
use response::ValidationResponse;

/// Registers the policy's operations.
#[expect(unsafe_code, reason = "waPC finds its entry point by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    // The default hook has nowhere to print; the trap that follows would be all that the host sees.
    std::panic::set_hook(Box::new(|panic| guest::console_log(&panic.to_string())));
    guest::register_function("validate", validate);
    guest::register_function("validate_settings", validate_settings);
    guest::register_function("protocol_version", protocol_version_guest);
    #[cfg(feature = "findings")]
    findings::register();
}

fn validate(payload: &[u8]) -> CallResult {
    let review = match AdmissionReview::from_json(payload) {
        Ok(review) => review,
        Err(reason) => return answer(Verdict::malformed(&reason)),
    };
    match review.settings() {
        Ok(settings) => answer(review_in(&review.request, &settings, &Cluster)),
        Err(problems) => answer(Verdict::misconfigured(&problems)),
    }
}

fn answer(verdict: Verdict<'_>) -> CallResult {
    Ok(serde_json::to_vec(&ValidationResponse(verdict))?)
}

fn validate_settings(payload: &[u8]) -> CallResult {
    let response = response::settings(&Settings::from_json(payload));
    Ok(serde_json::to_vec(&response)?)
}

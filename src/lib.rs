//! The Kubewarden policy: a waPC adapter for the `managed-by` library, which makes all decisions.
//!
//! With the feature `pods`, the module evaluates the rules that look up objects through the host, and no others. Without it the module makes
//! no host calls, in line with its metadata.
//! The feature `findings` adds two operations for programs that embed the module (`go/`).
//!
//! PolicyServer creates a fresh instance for every request, calls `wapc_init` and then one operation.

#[cfg(feature = "pods")]
mod cluster;
#[cfg(feature = "findings")]
mod findings;
mod response;

#[cfg(feature = "pods")]
use cluster::Host as Cluster;
#[cfg(not(feature = "pods"))]
use managed_by::NoCluster as Cluster;
use managed_by::{AdmissionReview, ResolvedRequest, Settings, Verdict, resolve};
use response::ValidationResponse;
use wapc_guest::{self as guest, CallResult};

/// Registers the policy's operations.
#[expect(unsafe_code, reason = "waPC finds its entry point by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    // The default hook cannot print here, so the host would report only the trap.
    std::panic::set_hook(Box::new(|panic| guest::console_log(&panic.to_string())));
    guest::register_function("validate", validate);
    guest::register_function("validate_settings", validate_settings);
    guest::register_function("protocol_version", protocol_version);
    #[cfg(feature = "findings")]
    findings::register();
}

/// Returns the version of Kubewarden's protocol that the policy implements.
#[expect(clippy::unnecessary_wraps, reason = "the signature of an operation")]
fn protocol_version(_: &[u8]) -> CallResult {
    Ok(b"\"v1\"".to_vec())
}

fn validate(payload: &[u8]) -> CallResult {
    let review = match AdmissionReview::from_json(payload) {
        Ok(review) => review,
        Err(reason) => return encode_response(Verdict::malformed(&reason)),
    };
    match review.settings() {
        Ok(settings) => encode_response(resolve(&review.request, &settings, evaluate)),
        Err(problems) => encode_response(Verdict::misconfigured(&problems)),
    }
}

fn evaluate(request: &ResolvedRequest<'_>) -> Verdict {
    #[cfg(feature = "pods")]
    return request.review_lookups(&Cluster);
    #[cfg(not(feature = "pods"))]
    request.review(&Cluster)
}

fn encode_response(verdict: Verdict) -> CallResult {
    log_exemption(&verdict);
    Ok(serde_json::to_vec(&ValidationResponse(verdict))?)
}

/// Logs the use of an exemption, because PolicyServer drops the warnings and annotations of the policies in a group.
fn log_exemption(verdict: &Verdict) {
    let is_exempted = |(key, _): &(&str, String)| *key == "exempted";
    if verdict.audit_annotations.iter().any(is_exempted) {
        for warning in &verdict.warnings {
            guest::console_log(warning);
        }
    }
}

fn validate_settings(payload: &[u8]) -> CallResult {
    let response = response::settings(&Settings::from_json(payload));
    Ok(serde_json::to_vec(&response)?)
}

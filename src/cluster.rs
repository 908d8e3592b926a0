//! Looks up Jobs in the cluster through the host capability `kubewarden/kubernetes/get_resource`, for the pods policy.

use kubewarden_policy_sdk::wapc_guest as guest;
use managed_by::{Cluster, JobLookup, LookupError};
use serde::Serialize;

/// Field of a Job that the rule reads. The host always returns the metadata. It prunes other fields since Kubewarden 1.33, and ignores the mask before.
const FIELD_MASKS: &[&str] = &["spec.managedBy"];

/// Prefix of `policy-evaluator`'s errors, after the SDK's own. The host has no error codes, so the texts below identify the errors. They must follow the
/// prefix directly, because the rest of an error may quote the Job.
const CALLBACK_FAILED: &str = "Host error: Callback evaluation failure: ";

/// Error for a Job that does not exist.
const NOT_FOUND: &str = "Cannot find batch/v1/Job named";

/// Prefix of an error of the discovery, which precedes the first lookup.
const DISCOVERY_FAILED: &str = "error finding resource batch/v1 / Job: ";

/// Errors of an API server that can't be reached: from kube's client, and from PolicyServer if it started without an API server.
const UNREACHABLE: &[&str] = &[
    "ServiceError: ",
    "HyperError: ",
    "kube::Client was not initialized properly",
];

/// Cluster behind the host. It can read the resources listed under `contextAwareResources` in the policy's manifest.
pub(crate) struct Host;

/// Request for one object. It replaces the SDK's `GetResourceRequest`, which would require `k8s-openapi`.
#[derive(Serialize)]
struct GetResource<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
    disable_cache: bool,
    field_masks: &'a [&'a str],
}

impl Cluster for Host {
    fn job(&self, namespace: &str, name: &str) -> Result<JobLookup, LookupError> {
        let request = GetResource {
            api_version: "batch/v1",
            kind: "Job",
            name,
            namespace,
            // `managedBy` is immutable, and the host does not cache missing objects.
            disable_cache: false,
            field_masks: FIELD_MASKS,
        };
        let request =
            serde_json::to_vec(&request).map_err(|e| LookupError::Unreadable(e.to_string()))?;
        guest::host_call("kubewarden", "kubernetes", "get_resource", &request)
            .map(JobLookup::Found)
            .or_else(|error| classify(error.to_string()))
    }
}

/// Returns the meaning of an error of the host. An unknown error denies the pod.
fn classify(error: String) -> Result<JobLookup, LookupError> {
    let reason = error.strip_prefix(CALLBACK_FAILED).unwrap_or(&error);
    if reason.starts_with(NOT_FOUND) {
        return Ok(JobLookup::NotFound);
    }
    let reason = reason.strip_prefix(DISCOVERY_FAILED).unwrap_or(reason);
    if UNREACHABLE.iter().any(|text| reason.starts_with(text)) {
        Err(LookupError::Unreachable(error))
    } else {
        Err(LookupError::Unreadable(error))
    }
}

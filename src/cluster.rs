//! Looks up Jobs in the cluster through the host capability `kubewarden/kubernetes/get_resource`, for the pods policy.

use kubewarden_policy_sdk::wapc_guest as guest;
use managed_by::{Cluster, JobLookup, LookupError};
use serde::Serialize;

/// Text with which the host reports a missing Job. `policy-evaluator` has no error code for it.
const NOT_FOUND: &str = "Cannot find batch/v1/Job named";

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
        };
        let request = serde_json::to_vec(&request).map_err(|e| LookupError::new(e.to_string()))?;
        match guest::host_call("kubewarden", "kubernetes", "get_resource", &request) {
            Ok(job) => Ok(JobLookup::Found(job)),
            Err(e) => {
                let text = e.to_string();
                let mut windows = text.as_bytes().windows(NOT_FOUND.len());
                if windows.any(|window| window == NOT_FOUND.as_bytes()) {
                    Ok(JobLookup::NotFound)
                } else {
                    Err(LookupError::new(text))
                }
            }
        }
    }
}

//! The cluster, asked through the host (`kubewarden/kubernetes/get_resource`).

use kubewarden_policy_sdk::wapc_guest as guest;
use managed_by::{Cluster, FoundJob, Unanswered};
use serde::Serialize;

/// How the host says that there is no such object: `policy-evaluator` has no other way than these words.
const NOT_FOUND: &str = "Cannot find batch/v1/Job named";

/// The host, which may look at what the policy's manifest lists under `contextAwareResources`.
pub(crate) struct Host;

/// The question for one object. It is the SDK's `GetResourceRequest`, which comes only with `k8s-openapi`.
#[derive(Serialize)]
struct GetResource<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
    disable_cache: bool,
}

impl Cluster for Host {
    fn job(&self, namespace: &str, name: &str) -> Result<FoundJob, Unanswered> {
        let question = GetResource {
            api_version: "batch/v1",
            kind: "Job",
            name,
            namespace,
            // A Job's field never changes while its UID stays, and the host does not cache that an object is missing.
            disable_cache: false,
        };
        let question = serde_json::to_vec(&question).map_err(|e| Unanswered::new(e.to_string()))?;
        match guest::host_call("kubewarden", "kubernetes", "get_resource", &question) {
            Ok(job) => Ok(FoundJob::Found(job)),
            Err(e) => {
                let text = e.to_string();
                let words = text.as_bytes().windows(NOT_FOUND.len());
                if words.into_iter().any(|w| w == NOT_FOUND.as_bytes()) {
                    Ok(FoundJob::NotFound)
                } else {
                    Err(Unanswered::new(text))
                }
            }
        }
    }
}

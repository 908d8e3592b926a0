//! The cluster, asked through the host (`kubewarden/kubernetes/get_resource`).

use kubewarden_policy_sdk::wapc_guest as guest;
use managed_by::{Cluster, Job, Unanswered};

/// How the host says that there is no such object: `policy-evaluator` has no other way than these words.
const NOT_FOUND: &str = "Cannot find batch/v1/Job named";

/// The host, which may look at what the policy's manifest lists under `contextAwareResources`.
pub(crate) struct Host;

impl Cluster for Host {
    fn job(&self, namespace: &str, name: &str) -> Result<Job, Unanswered> {
        // The host's cache may answer: a Job's field never changes while its UID stays, and misses are not cached.
        let quoted = |text| serde_json::to_string(text).map_err(|e| Unanswered::new(e.to_string()));
        let question = format!(
            r#"{{"api_version":"batch/v1","kind":"Job","name":{},"namespace":{},"disable_cache":false}}"#,
            quoted(name)?,
            quoted(namespace)?,
        );
        match guest::host_call(
            "kubewarden",
            "kubernetes",
            "get_resource",
            question.as_bytes(),
        ) {
            Ok(job) => Ok(Job::Found(job)),
            Err(e) => {
                let text = e.to_string();
                let words = text.as_bytes().windows(NOT_FOUND.len());
                if words.into_iter().any(|w| w == NOT_FOUND.as_bytes()) {
                    Ok(Job::NotFound)
                } else {
                    Err(Unanswered::new(text))
                }
            }
        }
    }
}

//! Looks up Jobs and Kueue's queues in the cluster through the host capability `kubewarden/kubernetes/get_resource`, for the pods policy.

use managed_by::{Cluster, Lookup, LookupError, QueueCluster, QueueKind};
use serde::Serialize;
use wapc_guest as guest;

/// Field of a Job that the rule reads. The host always returns the metadata. It prunes other fields since Kubewarden 1.33, and ignores the mask before.
const JOB_FIELDS: &[&str] = &["spec.managedBy"];

/// Fields of Kueue's objects that the rule reads.
const QUEUE_FIELDS: &[&str] = &[
    "spec.admissionChecksStrategy",
    "spec.clusterQueue",
    "spec.controllerName",
    "spec.stopPolicy",
    "status.conditions",
];

/// Prefix of `policy-evaluator`'s errors, after the one that `wapc_guest` adds. The host has no error codes, so the texts below identify the errors. They must follow the
/// prefix directly, because the rest of an error may quote the object.
const CALLBACK_FAILED: &str = "Host error: Callback evaluation failure: ";

/// Errors of an API server that can't be reached: from kube's client, and from PolicyServer if it started without an API server.
const UNREACHABLE: &[&str] = &[
    "ServiceError: ",
    "HyperError: ",
    "kube::Client was not initialized properly",
];

/// Cluster behind the host. It can read the resources listed under `contextAwareResources` in the policy's manifest.
pub(crate) struct Host;

/// Request for one object.
#[derive(Serialize)]
struct GetResource<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    namespace: Option<&'a str>,
    disable_cache: bool,
    field_masks: &'a [&'a str],
}

impl Cluster for Host {
    fn job(&self, namespace: &str, name: &str, may_be_cached: bool) -> Result<Lookup, LookupError> {
        get(&GetResource {
            api_version: "batch/v1",
            kind: "Job",
            name,
            namespace: Some(namespace),
            // `managedBy` is immutable, and the host does not cache missing objects.
            disable_cache: !may_be_cached,
            field_masks: JOB_FIELDS,
        })
    }
}

impl QueueCluster for Host {
    fn queue_object(
        &self,
        kind: QueueKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Lookup, LookupError> {
        get(&GetResource {
            api_version: QueueKind::API_VERSION,
            kind: kind.as_str(),
            name,
            namespace,
            // The host forgets an object after 5 seconds.
            disable_cache: false,
            field_masks: QUEUE_FIELDS,
        })
    }
}

fn get(request: &GetResource<'_>) -> Result<Lookup, LookupError> {
    let bytes = serde_json::to_vec(request).map_err(|e| LookupError::Unreadable(e.to_string()))?;
    guest::host_call("kubewarden", "kubernetes", "get_resource", &bytes)
        .map(Lookup::Found)
        .or_else(|error| classify(request, error.to_string()))
}

/// Returns the meaning of an error of the host. An unknown error denies a pod.
fn classify(request: &GetResource<'_>, error: String) -> Result<Lookup, LookupError> {
    let (version, kind) = (request.api_version, request.kind);
    let reason = error.strip_prefix(CALLBACK_FAILED).unwrap_or(&error);
    if reason.starts_with(&format!("Cannot find {version}/{kind} named")) {
        return Ok(Lookup::NotFound);
    }
    // The discovery precedes the first lookup of a kind.
    let discovery = format!("error finding resource {version} / {kind}: ");
    let reason = reason.strip_prefix(&*discovery).unwrap_or(reason);
    if UNREACHABLE.iter().any(|text| reason.starts_with(text)) {
        Err(LookupError::Unreachable(error))
    } else {
        Err(LookupError::Unreadable(error))
    }
}

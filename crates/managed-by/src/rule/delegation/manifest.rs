//! `delegation/no-requests` and `delegation/unsupported-field`: parts of a workload that only its manifest contains, because the policy
//! module does not decode them.

use serde_json::Value;

use super::Delegated;
use crate::finding::{BadValue, FieldError};
use crate::kind::MULTIKUEUE;
use crate::request::ManifestTexts;
use crate::rule::Context;

/// Fields beside `managedBy` of a `RayJob`, or of a `RayCronJob`'s template.
const UNSUPPORTED: [(&str, &str); 2] = [
    (
        "clusterSelector",
        "Kueue ignores a RayJob with this field, and KubeRay ignores a delegated one",
    ),
    (
        "deletionStrategy.deletionRules",
        "Kueue requires shutdownAfterJobFinishes: true, with which KubeRay on the worker cluster rejects the rules",
    ),
];

/// Returns the manifest of a workload for `MultiKueue`.
fn manifest(context: &Context<'_>, texts: ManifestTexts<'_>) -> Option<Value> {
    let delegated = Delegated::from_context(context)?;
    let is_for_multikueue = delegated.controller == MULTIKUEUE && !delegated.is_owned();
    serde_json::from_str(texts.object)
        .ok()
        .filter(|_| is_for_multikueue)
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}

/// Returns an error for each set field that keeps a `RayJob` from running.
pub(crate) fn unsupported_fields(
    context: &Context<'_>,
    texts: ManifestTexts<'_>,
) -> Vec<FieldError<'static>> {
    let Some((parent, _)) = context.path().rsplit_once('.') else {
        return Vec::new();
    };
    let manifest = manifest(context, texts).filter(|_| context.kind.group == "ray.io");
    let errors = UNSUPPORTED.iter().filter_map(|(field, detail)| {
        let path = format!("{parent}.{field}");
        let pointer = format!("/{}", path.replace('.', "/"));
        let value = manifest.as_ref()?.pointer(&pointer)?;
        is_set(value).then(|| FieldError::invalid(path, BadValue::Omitted, *detail))
    });
    errors.collect()
}

/// Returns an error if no pod of a Job or a `JobSet` requests anything.
pub(crate) fn missing_requests(
    context: &Context<'_>,
    texts: ManifestTexts<'_>,
) -> Option<FieldError<'static>> {
    // Other kinds have pods that their manifest does not contain.
    let is_complete = matches!(context.kind.group, "batch" | "jobset.x-k8s.io");
    let manifest = manifest(context, texts).filter(|_| is_complete)?;
    let mut pods = Vec::new();
    find_pods(manifest.get("spec")?, "spec".to_owned(), &mut pods);
    let (path, _) = pods.first()?;
    let path = format!("{path}.containers[0].resources.requests");
    let detail = "without requests, no cluster runs it, unless a LimitRange adds some or its queue counts pods";
    let has_requests = pods.iter().any(|(_, pod)| requests(pod));
    (!has_requests).then(|| FieldError::required(path, detail))
}

/// Finds the pod specs in a value, with their paths.
fn find_pods<'v>(value: &'v Value, path: String, pods: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(members) if members.get("containers").is_some_and(Value::is_array) => {
            pods.push((path, value));
        }
        Value::Object(members) => {
            for (name, value) in members {
                find_pods(value, format!("{path}.{name}"), pods);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                find_pods(value, format!("{path}[{index}]"), pods);
            }
        }
        _ => {}
    }
}

/// Returns true if a pod, or a container of it, requests resources, or may get a request in the cluster.
fn requests(pod: &Value) -> bool {
    let has = |value: &Value, names: &[&str]| {
        names.iter().any(|name| value.get(name).is_some_and(is_set))
    };
    // The API server copies missing requests from the limits.
    let has_resources = |value: &Value| {
        let resources = value.get("resources");
        resources.is_some_and(|resources| has(resources, &["requests", "limits", "claims"]))
    };
    let lists =
        ["containers", "initContainers"].map(|name| pod.get(name).and_then(Value::as_array));
    let mut containers = lists.into_iter().flatten().flatten();
    has(pod, &["overhead", "runtimeClassName", "resourceClaims"])
        || has_resources(pod)
        || containers.any(has_resources)
}

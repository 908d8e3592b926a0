//! What the conditions are to ask about, said once more without CEL, and by nothing that the manifests say.

use managed_by::Kind;
use serde_json::Value;

pub(crate) fn kind_of(request: &Value) -> Option<&'static Kind<'static>> {
    let kind = |key: &str| request["kind"][key].as_str().unwrap_or_default();
    Kind::find(kind("group"), kind("version"), kind("kind"))
}

/// What is at a path, `[]` for each element of a list. Absent is not the same as `null`.
pub(crate) fn at<'v>(object: &'v Value, path: &str) -> Vec<Option<&'v Value>> {
    let get = |path: &str| {
        path.split('.')
            .try_fold(object, |value, key| value.get(key))
    };
    match path.split_once("[].") {
        None => vec![get(path)],
        Some((list, path)) => {
            let items = get(list).and_then(Value::as_array).into_iter().flatten();
            items.flat_map(|item| at(item, path)).collect()
        }
    }
}

fn changes(request: &Value, path: &str) -> bool {
    at(&request["object"], path) != at(&request["oldObject"], path)
}

/// Whether the stored object is somebody else's than its kind's own controller's.
pub(crate) fn is_delegated(request: &Value, kind: &Kind<'_>) -> bool {
    let stored = at(&request["oldObject"], kind.managed_by_path());
    stored[0]
        .and_then(Value::as_str)
        .is_some_and(|name| Some(name) != kind.reserved_value())
}

/// Whether there is something to judge.
pub(crate) fn is_to_be_judged(request: &Value, kind: &Kind<'_>, manifest: &str) -> bool {
    let is_pruned = kind
        .pruned_in()
        .iter()
        .any(|v| request["requestKind"]["version"] == *v);
    match (
        request["operation"].as_str().unwrap(),
        request["subResource"].as_str(),
    ) {
        ("UPDATE", None) => {
            is_pruned
                || changes(request, kind.managed_by_path())
                || template(kind).is_some_and(|path| changes(request, path))
        }
        ("UPDATE", Some("status")) => {
            let has_writers = WRITERS.contains(&manifest) && kind.has_status_rules();
            is_pruned || has_writers || is_delegated(request, kind)
        }
        (_, Some(_)) => false,
        _ => true,
    }
}

/// Where the templates of a kind have the field; those of an AppWrapper are of many kinds.
pub(crate) fn template(kind: &Kind<'_>) -> Option<&'static str> {
    match kind.name() {
        "JobSet" => Some("spec.replicatedJobs[].template.spec.managedBy"),
        "RayJob" => Some("spec.rayClusterSpec.managedBy"),
        "RayService" => Some("spec.rayClusterConfig.managedBy"),
        "RayCronJob" => Some("spec.jobTemplate.rayClusterSpec.managedBy"),
        "AppWrapper" => Some("spec.components[].template"),
        _ => None,
    }
}

/// The manifests that name who writes statuses.
pub(crate) const WRITERS: [&str; 3] = ["management", "worker", "webhook"];

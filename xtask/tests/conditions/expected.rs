//! The requests for which kube-apiserver must call the webhook, implemented without CEL and independently of the manifests.

use managed_by::Kind;
use serde_json::Value;

pub(crate) fn kind_of(request: &Value) -> Option<&'static Kind<'static>> {
    let kind = |key: &str| request["kind"][key].as_str().unwrap_or_default();
    Kind::find(kind("group"), kind("version"), kind("kind"))
}

/// Returns the values at a path, where `[]` matches each element of a list. A missing value is `None`, unlike `null`.
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

/// Number of elements up to which the conditions read a field in each element of a list. In longer lists, every change counts.
pub(crate) const MAX_ELEMENTS: usize = 1000;

fn changes(request: &Value, path: &str) -> bool {
    let versions = [&request["object"], &request["oldObject"]];
    if let Some((list, _)) = path.split_once("[].") {
        let [new, old] = versions.map(|object| at(object, list));
        let is_long = |list: &[Option<&Value>]| {
            let elements = list[0].and_then(Value::as_array);
            elements.is_some_and(|elements| elements.len() > MAX_ELEMENTS)
        };
        if is_long(&new) || is_long(&old) {
            return new != old;
        }
    }
    let [new, old] = versions.map(|object| at(object, path));
    new != old
}

pub(crate) fn is_delegated(request: &Value, kind: &Kind<'_>) -> bool {
    let stored = at(&request["oldObject"], kind.managed_by_path());
    stored[0]
        .and_then(Value::as_str)
        .is_some_and(|name| Some(name) != kind.reserved_value())
}

/// Returns true if kube-apiserver must call the webhook of a manifest for the request.
pub(crate) fn calls_webhook(request: &Value, kind: &Kind<'_>, manifest: &str) -> bool {
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
                || kind.nested_paths().any(|path| changes(request, &path))
        }
        ("UPDATE", Some("status")) => {
            let has_writers = WRITERS.contains(&manifest) && kind.has_status_rules();
            is_pruned || has_writers || is_delegated(request, kind)
        }
        (_, Some(_)) => false,
        _ => true,
    }
}

/// Manifests whose settings list status writers.
pub(crate) const WRITERS: [&str; 2] = ["management", "worker"];

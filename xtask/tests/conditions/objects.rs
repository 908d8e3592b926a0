//! Objects and statuses for the requests that the conditions evaluate.

use managed_by::Kind;
use managed_by_parity::generate::Generator;
use managed_by_testing::objects::object_with_managed_by;
use serde_json::{Value, json};

pub(crate) fn kind_of(request: &Value) -> Option<&'static Kind<'static>> {
    let kind = |key: &str| request["kind"][key].as_str().unwrap_or_default();
    Kind::find(kind("group"), kind("version"), kind("kind"))
}

/// Returns the value at a path. A missing value is `None`, unlike `null`.
pub(crate) fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.')
        .try_fold(object, |value, key| value.get(key))
}

/// Sets the value at a path and creates its parents. `[]` creates a list of two items and sets the value in the first. `None`
/// changes nothing.
pub(crate) fn put(object: &mut Value, path: &str, value: Option<String>) {
    let Some(value) = value else {
        return;
    };
    match path.split_once("[].") {
        None => path
            .split('.')
            .fold(object, |place, key| &mut place[key])
            .clone_from(&value.into()),
        Some((list, path)) => {
            let mut item = json!({"name": "a"});
            put(&mut item, path, Some(value));
            let list = list.split('.').fold(object, |place, key| &mut place[key]);
            *list = json!([item, {"name": "b"}]);
        }
    }
}

/// Returns statuses with fields of several kinds.
pub(crate) fn statuses() -> Vec<Value> {
    let condition = |name: &str, status: &str| json!({"type": name, "status": status});
    let ends = ["Complete", "Completed", "Succeeded", "Failed"]
        .map(|name| json!({"conditions": [condition(name, "True")]}));
    let more = [
        json!({}),
        json!({"conditions": [condition("Failed", "True"), condition("Completed", "True")]}),
        json!({"conditions": [condition("Succeeded", "False")]}),
        json!({"active": 1, "startTime": "2026-11-20T09:00:00Z"}),
        json!({"active": -1, "restarts": -1}),
        json!({"restarts": 3, "failed": 2}),
        json!({"jobDeploymentStatus": "Complete"}),
        json!({"phase": "Failed"}),
        json!({"startTime": "2026-11-20T09:00:00Z", "completionTime": "2026-11-20T08:00:00Z"}),
    ];
    ends.into_iter().chain(more).collect()
}

/// Returns objects of a kind: one without a spec, and one for each combination of `managedBy` values in the object and in its first
/// template.
pub(crate) fn objects(kind: &Kind<'_>) -> Vec<Value> {
    let mut values = vec![
        None,
        kind.reserved_value(),
        Some("kueue.x-k8s.io/multikueue"),
    ];
    let in_templates = values.clone();
    values.extend([Some("acme.io/runner"), Some("")]);
    let mut objects = vec![object_with_managed_by(kind, None)];
    for value in values {
        let mut object = object_with_managed_by(kind, value);
        object["spec"]["suspend"] = true.into();
        let Some(path) = kind.nested_paths().next() else {
            objects.push(object);
            continue;
        };
        for value in &in_templates {
            let mut object = object.clone();
            if kind.name() == "AppWrapper" {
                let job =
                    json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": value}});
                object["spec"]["components"] = json!([{"template": job}]);
            } else {
                put(&mut object, &path, value.map(ToOwned::to_owned));
            }
            objects.push(object);
        }
    }
    objects
}

/// Returns the paths of `managedBy` and of the templates that the conditions read.
fn paths(kind: &Kind<'_>) -> Vec<String> {
    let own = kind.managed_by_path().to_owned();
    [own].into_iter().chain(kind.nested_paths()).collect()
}

/// Puts a value of a random type at a random prefix of a path that the conditions read, the same in all objects.
pub(crate) fn corrupt(generator: &mut Generator, kind: &Kind<'_>, objects: &mut [&mut Value]) {
    let paths = paths(kind);
    let path = generator.one_of(&paths).replace("[]", ".[]");
    let keys: Vec<_> = path.split('.').collect();
    let prefixes: Vec<_> = (1..=keys.len()).map(|depth| &keys[..depth]).collect();
    let keys = *generator.one_of(&prefixes);
    let types = [
        json!("x"),
        json!(5),
        json!(["a"]),
        json!({"a": 1}),
        json!([5, {}]),
        json!(true),
        Value::Null,
    ];
    let value = generator.one_of(&types);
    for object in objects {
        replace(object, keys, value);
    }
}

/// Replaces the value at a path, and the values of other types that should contain it.
fn replace(place: &mut Value, keys: &[&str], value: &Value) {
    match keys {
        [] => place.clone_from(value),
        ["[]", rest @ ..] => {
            if place.get(0).is_none() {
                *place = json!([{}]);
            }
            replace(&mut place[0], rest, value);
        }
        [key, rest @ ..] => {
            if !place.is_object() {
                *place = json!({});
            }
            replace(&mut place[*key], rest, value);
        }
    }
}

/// Returns the values at a path, each with the value of a wrong type that contains it instead.
fn values<'v>(object: &'v Value, path: &str) -> Vec<Option<&'v Value>> {
    let (path, rest) = path
        .split_once("[].")
        .map_or((path, None), |(list, rest)| (list, Some(rest)));
    let mut value = Some(object);
    for key in path.split('.') {
        if let Some(Value::Object(members)) = value {
            value = members.get(key);
        }
    }
    match (rest, value) {
        (Some(rest), Some(Value::Array(items))) => {
            items.iter().flat_map(|item| values(item, rest)).collect()
        }
        (Some(_), None) => Vec::new(),
        _ => vec![value],
    }
}

/// Returns true if an update changes no value that the conditions read, except that it may remove values of a wrong type.
pub(crate) fn has_same_values(kind: &Kind<'_>, request: &Value) -> bool {
    paths(kind).iter().all(|path| {
        let [new, old] = ["object", "oldObject"].map(|member| values(&request[member], path));
        let is_removed =
            new.iter().all(Option::is_none) && !old.iter().flatten().any(|value| value.is_string());
        new == old || is_removed
    })
}

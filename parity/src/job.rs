//! Jobs and updates of Jobs, which cases are built from.

use serde_json::{Value, json};

use crate::vector::Case;

/// Returns a Job that upstream accepts on create and on update.
pub(crate) fn job() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "pi", "namespace": "default", "uid": "1", "resourceVersion": "7"},
        "spec": {
            "manualSelector": true,
            "selector": {"matchLabels": {"app": "pi"}},
            "template": {
                "metadata": {"labels": {"app": "pi"}},
                "spec": {"containers": [{"name": "pi", "image": "perl"}], "restartPolicy": "Never"},
            },
        },
    })
}

/// Builds an update of a Job.
pub(crate) fn update(name: String, old: Value, object: Value) -> Case {
    Case {
        name,
        operation: "UPDATE".to_owned(),
        sub_resource: String::new(),
        object,
        old_object: Some(old),
    }
}

/// Builds a status update of a Job with the given spec.
pub(crate) fn status_update(name: String, spec: &Value, old: Value, new: Value) -> Case {
    let object = |status: Value| {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "pi", "namespace": "default", "uid": "1", "resourceVersion": "7"},
            "spec": spec,
            "status": status,
        })
    };
    Case {
        name,
        operation: "UPDATE".to_owned(),
        sub_resource: "status".to_owned(),
        object: object(new),
        old_object: Some(object(old)),
    }
}

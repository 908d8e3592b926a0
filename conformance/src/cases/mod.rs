//! The questions: hand-written cases, each with a name that says what it shows.

mod field;
mod format;
pub mod status;
pub(crate) mod template;

use crate::generate;
use serde_json::{Value, json};

use crate::vector::Case;

/// Every file of vectors with its cases.
pub fn files() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        ("managed-by-format.ndjson", format::cases()),
        ("managed-by-field.ndjson", field::cases()),
        ("job-status.ndjson", status::cases()),
        ("job-status-generated.ndjson", generate::sample()),
        ("job-spec.ndjson", template::cases()),
        ("job-spec-generated.ndjson", generate::template_sample()),
    ]
}

/// `managedBy` as it may stand in JSON.
#[derive(Clone)]
pub(crate) enum Field {
    Absent,
    Is(Value),
}

impl Field {
    fn string(value: &str) -> Self {
        Self::Is(value.into())
    }
}

/// The spec of a Job that upstream finds no other fault with, on create and on update.
fn job_spec(field: &Field) -> Value {
    let mut spec = json!({
        "manualSelector": true,
        "selector": {"matchLabels": {"app": "pi"}},
        "template": {
            "metadata": {"labels": {"app": "pi"}},
            "spec": {"containers": [{"name": "pi", "image": "perl"}], "restartPolicy": "Never"},
        },
    });
    if let (Field::Is(value), Some(members)) = (field, spec.as_object_mut()) {
        members.insert("managedBy".to_owned(), value.clone());
    }
    spec
}

pub(crate) fn job(field: &Field) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "pi", "namespace": "default", "uid": "1", "resourceVersion": "7"},
        "spec": job_spec(field),
    })
}

fn cron_job(field: &Field) -> Value {
    let mut spec = job_spec(field);
    if let Some(members) = spec.as_object_mut() {
        // Only a Job may choose its selector.
        members.remove("manualSelector");
        members.remove("selector");
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "default", "uid": "2", "resourceVersion": "7"},
        "spec": {"schedule": "0 3 * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": spec}},
    })
}

fn create(name: String, object: Value) -> Case {
    Case {
        name,
        operation: "CREATE".to_owned(),
        sub_resource: String::new(),
        object: without_resource_version(object),
        old_object: None,
    }
}

pub(crate) fn update(name: String, old: Value, object: Value) -> Case {
    Case {
        name,
        operation: "UPDATE".to_owned(),
        sub_resource: String::new(),
        object,
        old_object: Some(old),
    }
}

fn without_resource_version(mut object: Value) -> Value {
    if let Some(metadata) = object
        .pointer_mut("/metadata")
        .and_then(Value::as_object_mut)
    {
        metadata.remove("resourceVersion");
    }
    object
}

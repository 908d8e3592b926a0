//! The cases of each vector file: handwritten, generated, or read from the file itself.

pub mod status;

use crate::generate;
use crate::vector::{self, Case};
use anyhow::Result;
use serde_json::{Value, json};

/// Returns the cases of a vector file.
///
/// # Errors
/// If the file does not exist.
pub fn read(file: &str) -> Result<Vec<Case>> {
    Ok(match file {
        "job-status.ndjson" => status::cases(),
        "job-status-generated.ndjson" => generate::sample(),
        "job-spec-generated.ndjson" => generate::template_sample(),
        // The other files contain their own cases. A line without results is a new case.
        _ => {
            let vectors = vector::read(file)?.into_iter();
            vectors.map(|vector| vector.case).collect()
        }
    })
}

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

pub(crate) fn update(name: String, old: Value, object: Value) -> Case {
    Case {
        name,
        operation: "UPDATE".to_owned(),
        sub_resource: String::new(),
        object,
        old_object: Some(old),
    }
}

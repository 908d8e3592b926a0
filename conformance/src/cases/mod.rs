//! The questions: each case has a name that says what it shows.

pub mod status;

use crate::generate;
use crate::vector::{self, Case};
use anyhow::Result;
use serde_json::{Value, json};

/// The cases of a file of vectors.
///
/// # Errors
/// If there is no such file.
pub fn of(file: &str) -> Result<Vec<Case>> {
    Ok(match file {
        "job-status.ndjson" => status::cases(),
        "job-status-generated.ndjson" => generate::sample(),
        "job-spec-generated.ndjson" => generate::template_sample(),
        // The other files hold their questions themselves: a line without answers is a new one.
        _ => {
            let vectors = vector::read(file)?.into_iter();
            vectors.map(|vector| vector.case).collect()
        }
    })
}

/// A Job that upstream finds no other fault with, on create and on update.
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

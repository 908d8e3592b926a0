//! The rules in `compare/settings.yml`, written like a typical policy that uses Kubewarden's SDK.

mod job;

use std::collections::HashMap;

use k8s_openapi::api::batch::v1::Job;
use kubewarden_policy_sdk::request::ValidationRequest;
use kubewarden_policy_sdk::response::ValidationResponse;
use kubewarden_policy_sdk::settings::Validatable;
use kubewarden_policy_sdk::wapc_guest::{self as guest, CallResult};
use kubewarden_policy_sdk::{protocol_version_guest, validate_settings};
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Supported subset of the settings of managed-by-policy.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Settings {
    role: String,
    controllers: HashMap<String, Controller>,
    namespaces: Vec<Namespaces>,
    exempt: Exempt,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Controller {
    kinds: Vec<String>,
    status_writers: Vec<String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Namespaces {
    match_labels: HashMap<String, String>,
    delegation: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Exempt {
    groups: Vec<String>,
}

impl Validatable for Settings {
    fn validate(&self) -> Result<(), String> {
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    guest::register_function("validate", validate);
    guest::register_function("validate_settings", validate_settings::<Settings>);
    guest::register_function("protocol_version", protocol_version_guest);
}

fn reserved(kind: &str) -> &'static str {
    match kind {
        "Job" => "kubernetes.io/job-controller",
        _ => "jobset.sigs.k8s.io/jobset-controller",
    }
}

fn managed_by(object: &Value) -> Option<&str> {
    object.pointer("/spec/managedBy").and_then(Value::as_str)
}

fn validate(payload: &[u8]) -> CallResult {
    let request: ValidationRequest<Settings> = ValidationRequest::new(payload)?;
    let settings = &request.settings;
    let review = &request.request;
    let kind = review.kind.kind.as_str();
    let (new, old) = (&review.object, &review.old_object);
    let mut errors: Vec<String> = Vec::new();
    let mut cluster_specific: Vec<String> = Vec::new();
    let mut warnings: Vec<String> = Vec::new();
    let delegated = |object: &Value| -> Option<String> {
        let value = managed_by(object).filter(|v| *v != reserved(kind));
        value.map(ToOwned::to_owned)
    };

    if review.sub_resource.is_empty() {
        let is_update = review.operation == "UPDATE";
        let is_changed = is_update && managed_by(new) != managed_by(old);
        if is_changed {
            errors.push("spec.managedBy: Invalid value: field is immutable".to_owned());
        }
        if !is_update || is_changed {
            if let Some(value) = managed_by(new) {
                let pattern = Regex::new(
                    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$",
                )?;
                if value.len() > 63 || !pattern.is_match(value) {
                    errors.push(
                        "spec.managedBy: must be a domain-prefixed path of at most 63 bytes"
                            .to_owned(),
                    );
                }
            }
            match delegated(new) {
                Some(value) => {
                    let is_listed = settings
                        .controllers
                        .get(&value)
                        .is_some_and(|c| c.kinds.is_empty() || c.kinds.iter().any(|k| k == kind));
                    if !is_listed {
                        let mut names: Vec<_> = settings.controllers.keys().cloned().collect();
                        names.sort();
                        cluster_specific.push(format!(
                            "spec.managedBy: Unsupported value: {value:?}: supported values: {}",
                            names.join(", ")
                        ));
                    }
                }
                None if settings.role == "management" => {
                    let labels = new.pointer("/metadata/labels");
                    let is_excepted = settings.namespaces.iter().any(|entry| {
                        entry.delegation == "allowed"
                            && entry.match_labels.iter().all(|(k, v)| {
                                labels.and_then(|l| l.get(k)).and_then(Value::as_str) == Some(v)
                            })
                    });
                    let owners = new
                        .pointer("/metadata/ownerReferences")
                        .and_then(Value::as_array);
                    let is_child = owners.into_iter().flatten().any(|owner| {
                        owner["controller"] == true
                            && (owner["kind"] == "Job" || owner["kind"] == "JobSet")
                    });
                    if !is_excepted && !is_child {
                        cluster_specific.push(
                            "spec.managedBy: a workload must be delegated on a management cluster"
                                .to_owned(),
                        );
                    }
                }
                None => {}
            }
            let jobs = new
                .pointer("/spec/replicatedJobs")
                .and_then(Value::as_array);
            for (index, job) in jobs.into_iter().flatten().enumerate() {
                let child = job
                    .pointer("/template/spec/managedBy")
                    .and_then(Value::as_str);
                let is_orphaned = child.is_some_and(|child| {
                    child != reserved("Job")
                        && (Some(child) != managed_by(new) || child == "kueue.x-k8s.io/multikueue")
                });
                if is_orphaned {
                    warnings.push(format!(
                        "spec.replicatedJobs[{index}].template.spec.managedBy: no controller would reconcile this Job"
                    ));
                }
            }
        }
    } else if review.sub_resource == "status" {
        if let Some(controller) = delegated(old) {
            let writers = settings
                .controllers
                .get(&controller)
                .map(|c| &c.status_writers);
            let user = &review.user_info.username;
            if writers.is_some_and(|w| !w.is_empty() && !w.contains(user)) {
                cluster_specific.push(
                    "status: only the controller may write the status of a delegated workload"
                        .to_owned(),
                );
            }
        }
        match kind {
            "Job" => {
                let new: Job = serde_json::from_value(new.clone())?;
                let old: Job = serde_json::from_value(old.clone())?;
                job::validate(&new, &old, &mut errors);
            }
            "JobSet" if delegated(old).is_some() => validate_jobset_status(new, old, &mut errors),
            _ => {}
        }
    }
    let groups = &review.user_info.groups;
    if groups
        .iter()
        .any(|group| settings.exempt.groups.contains(group))
    {
        warnings.extend(
            cluster_specific.iter()
                .map(|error| format!("would have been denied, but the user is exempt: {error}")),
        );
    } else if new.pointer("/metadata/deletionTimestamp").is_none() {
        errors.append(&mut cluster_specific);
    }
    let response = ValidationResponse {
        accepted: errors.is_empty(),
        message: (!errors.is_empty()).then(|| errors.join(", ")),
        code: (!errors.is_empty()).then_some(422),
        mutated_object: None,
        audit_annotations: None,
        warnings: (!warnings.is_empty()).then_some(warnings),
    };
    Ok(serde_json::to_vec(&response)?)
}

fn validate_jobset_status(new: &Value, old: &Value, errors: &mut Vec<String>) {
    let is_true = |object: &Value, name: &str| {
        let conditions = object
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        conditions
            .into_iter()
            .flatten()
            .any(|c| c["type"] == name && c["status"] == "True")
    };
    for end in ["Completed", "Failed"] {
        if is_true(old, end) && !is_true(new, end) {
            errors.push(format!(
                "status.conditions: cannot disable the terminal condition {end}"
            ));
        }
    }
    let both = |object: &Value| is_true(object, "Completed") && is_true(object, "Failed");
    if both(new) && !both(old) {
        errors.push("status.conditions: cannot be both Completed and Failed".to_owned());
    }
    for counter in ["restarts", "restartsCountTowardsMax"] {
        if new
            .pointer(&format!("/status/{counter}"))
            .and_then(Value::as_i64)
            .is_some_and(|n| n < 0)
        {
            errors.push(format!(
                "status.{counter}: must be greater than or equal to 0"
            ));
        }
    }
    let jobs = new
        .pointer("/status/replicatedJobsStatus")
        .and_then(Value::as_array);
    for job in jobs.into_iter().flatten() {
        for counter in ["active", "failed", "ready", "succeeded", "suspended"] {
            if job[counter].as_i64().is_some_and(|n| n < 0) {
                errors.push(format!(
                    "status.replicatedJobsStatus[].{counter}: must be greater than or equal to 0"
                ));
            }
        }
    }
}

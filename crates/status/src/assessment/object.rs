//! The facts about a stored workload that a verdict needs, without the rest of the object: 50,000 of them are in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use managed_by::{DecodeError, Enforcement, Finding, Outcome, UserInfo};
use managed_by_offline::replay::ObjectRef;
use managed_by_offline::{Evaluator, manifest};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::StatusWrite;
use super::json::parts;

/// Maximum time that a read of the cluster takes. Objects are younger than the time at which it began.
const MAX_RUN: TimeDelta = TimeDelta::minutes(10);

pub(super) const PREBUILT_WORKLOAD: &str = "kueue.x-k8s.io/prebuilt-workload-name";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredObject {
    pub(crate) object: ObjectRef,
    pub(crate) uid: String,
    pub(crate) created: Option<DateTime<Utc>>,
    pub(crate) is_being_deleted: bool,
    /// Controller that the object is delegated to, or [`None`] for the built-in controller.
    pub(crate) delegated_to: Option<String>,
    /// Name of the kind's built-in controller; may be empty.
    pub(crate) built_in: String,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) queue: Option<String>,
    /// Name of the Workload that a user has created for it.
    pub(crate) prebuilt: Option<String>,
    /// Name for kubectl: `jobs.batch/pi`.
    pub(crate) argument: String,
    /// Path of the field that suspends it, such as `spec.suspend`.
    pub(crate) suspend_path: String,
    pub(crate) is_suspended: bool,
    pub(crate) suspended_condition: Option<bool>,
    /// `status.active` of a Job.
    pub(crate) active: Option<i64>,
    pub(crate) has_status: bool,
    /// Last write of the status by each manager.
    pub(crate) status_writes: Vec<StatusWrite>,
    /// Last write of the spec or the labels by each manager.
    pub(crate) spec_writes: Vec<DateTime<Utc>>,
    /// The reason why no controller has the name in `managedBy`, and whether the settings say so.
    pub(crate) unknown_name: Option<(String, bool)>,
    /// The first rule that the status violates, with its message.
    pub(crate) violation: Option<String>,
}

parts! {
    struct Partial {
        metadata: Metadata,
        spec: Option<Box<RawValue>>,
        status: Status,
    }

    struct Metadata {
        uid: String,
        creation_timestamp: Option<DateTime<Utc>>,
        deletion_timestamp: Option<DateTime<Utc>>,
        labels: BTreeMap<String, String>,
        annotations: BTreeMap<String, String>,
        managed_fields: Vec<ManagedFields>,
    }

    struct ManagedFields {
        manager: String,
        time: Option<DateTime<Utc>>,
        subresource: String,
        fields_v1: Option<Box<RawValue>>,
    }

    struct Status {
        active: Option<i64>,
        conditions: Vec<Condition>,
    }

    struct Condition {
        #[serde(rename = "type")]
        name: String,
        status: String,
        reason: String,
        message: String,
        last_transition_time: Option<DateTime<Utc>>,
    }
}

const MAX_MESSAGE: usize = 400;

/// Returns a text that anyone may have written without the end of a long one: 50,000 of them are in memory.
pub(super) fn shorten(text: String) -> String {
    shorten_to(MAX_MESSAGE, text)
}

pub(super) fn shorten_to(max: usize, text: String) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

impl Condition {
    pub(super) fn message(&self) -> String {
        shorten(self.message.clone())
    }
}

pub(super) fn condition<'c>(conditions: &'c [Condition], name: &str) -> Option<&'c Condition> {
    conditions.iter().find(|one| one.name == name)
}

/// Returns the value at a path of object members, if it has the type.
fn at<'j, T: Deserialize<'j>>(json: &'j RawValue, path: &str) -> Option<T> {
    let value = path.split('.').try_fold(json, |json, name| {
        let members: BTreeMap<Cow<'j, str>, &'j RawValue> =
            serde_json::from_str(json.get()).ok()?;
        members.get(name).copied()
    });
    serde_json::from_str(value?.get()).ok()
}

impl StoredObject {
    /// Reads the facts of an object of a resource. Returns [`None`] for an object that is no workload.
    pub(crate) fn read(
        object: &manifest::Object<'_>,
        resource: &str,
        evaluator: &Evaluator<'_>,
    ) -> Result<Option<Self>, String> {
        let user = UserInfo::default();
        let request = object.stored_request(&user);
        let read = request
            .with_request(|request| {
                let Some(state) = evaluator.workload_state(request) else {
                    return Ok(None);
                };
                // The status of a finished workload is not evaluated: it cannot get better.
                let findings = evaluator.evaluate(request)?.findings;
                Ok(Some((state, findings)))
            })
            .flatten()
            .map_err(|malformed: DecodeError| malformed.to_string())?;
        let Some((state, findings)) = read else {
            return Ok(None);
        };
        let Partial {
            metadata,
            spec,
            status,
        } = serde_json::from_str(object.json()).map_err(|e| e.to_string())?;
        let writes = metadata.managed_fields.into_iter();
        let (status_writes, others): (Vec<_>, Vec<_>) =
            writes.partition(|fields| fields.subresource == "status");
        let status_writes = status_writes.into_iter().filter_map(|fields| {
            // The API server stores at most 128 bytes of the name.
            let ManagedFields { manager, time, .. } = fields;
            time.map(|time| StatusWrite { time, manager })
        });
        // An annotation that a program renews is no change.
        let is_change = |fields: &ManagedFields| {
            let fields = fields.fields_v1.as_ref().map(|json| json.get());
            fields.is_none_or(|json| ["f:spec", "f:labels"].iter().any(|f| json.contains(f)))
        };
        let spec_writes = others.iter().filter(|fields| is_change(fields));
        // The path of every kind begins with the spec.
        let suspend = state.suspend_path.strip_prefix("spec.").zip(spec);
        let is_suspended = suspend.and_then(|(path, spec)| at(&spec, path));
        let suspended = condition(&status.conditions, "Suspended");
        let (mut labels, mut annotations) = (metadata.labels, metadata.annotations);
        let is_set = |value: &String| !value.is_empty();
        let mut label = |name| labels.remove(name).filter(is_set);
        // Kueue reads the name from an annotation if it is too long for a label, or with a feature gate.
        let mut annotation = |name| annotations.remove(name).filter(is_set);
        Ok(Some(Self {
            object: object.full_name(""),
            uid: metadata.uid,
            created: metadata.creation_timestamp,
            is_being_deleted: metadata.deletion_timestamp.is_some(),
            delegated_to: state.delegated_to.map(shorten),
            built_in: state.reserved_value.unwrap_or_default(),
            outcome: state.outcome,
            queue: label(managed_by::QUEUE_NAME),
            prebuilt: label(PREBUILT_WORKLOAD).or_else(|| annotation(PREBUILT_WORKLOAD)),
            argument: format!("{resource}/{}", object.name()),
            suspend_path: state.suspend_path,
            is_suspended: is_suspended.unwrap_or(false),
            suspended_condition: suspended.map(|condition| condition.status == "True"),
            active: status.active.filter(|active| *active > 0),
            has_status: object.has_status(),
            status_writes: status_writes.collect(),
            spec_writes: spec_writes.filter_map(|fields| fields.time).collect(),
            unknown_name: findings.iter().find_map(unknown_name),
            violation: findings.iter().find_map(violation),
        }))
    }

    /// Returns the controller that runs the workload; may be empty.
    pub(crate) fn controller(&self) -> &str {
        self.delegated_to.as_deref().unwrap_or(&self.built_in)
    }

    pub(crate) fn last_status_write(&self, now: DateTime<Utc>) -> Option<&StatusWrite> {
        let writes = self.status_writes.iter();
        writes.filter(|write| has_come(write.time, now)).max()
    }

    pub(crate) fn last_change(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let writes = self.spec_writes.iter().copied();
        writes.filter(|time| has_come(*time, now)).max()
    }
}

/// Returns false for a time that is forged: those in `managedFields` are the API server's, but a client may write them.
fn has_come(time: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now.signed_duration_since(time) > -MAX_RUN
}

/// Returns the reason if a finding means that no controller has the name in `managedBy`, and true if the settings say so.
fn unknown_name(finding: &Finding) -> Option<(String, bool)> {
    let is_listed_rule = match finding.rule.id() {
        "managed-by/allowed" => true,
        "managed-by/reserved-domain" | "managed-by/wrong-kind" | "managed-by/format" => false,
        _ => return None,
    };
    Some((shorten(finding.message.clone()), is_listed_rule))
}

/// Returns the message of a denial about the status.
fn violation(finding: &Finding) -> Option<String> {
    let id = finding.rule.id();
    let is_status = id.starts_with("job-status/") || id.starts_with("status/");
    (is_status && finding.enforcement == Enforcement::Deny)
        .then(|| format!("{} [{id}]", shorten(finding.message.clone())))
}

//! Conversion of typed Jobs to the view that rules read, with the same result as decoding their JSON.

use std::borrow::Cow;

use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::decode::Raw;
use crate::object::job::{self as view, Conditions, Uncounted};
use crate::object::{Metadata, Object};
use crate::upstream::time;

/// Fields of a Job that rules decode from JSON on demand.
#[derive(Default)]
pub(super) struct RawFields {
    labels: Option<Box<RawValue>>,
    finalizers: Option<Box<RawValue>>,
    owner_references: Option<Box<RawValue>>,
    template: Option<Box<RawValue>>,
}

impl RawFields {
    pub(super) fn new(job: &Job) -> Self {
        Self {
            labels: job.metadata.labels.as_ref().and_then(json),
            finalizers: job.metadata.finalizers.as_ref().and_then(json),
            owner_references: job.metadata.owner_references.as_ref().and_then(json),
            template: job.spec.as_ref().and_then(|spec| json(&spec.template)),
        }
    }
}

/// Serializes a value as JSON. Returns [`None`] for values that JSON can't represent.
fn json(value: &impl Serialize) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

pub(super) fn object<'a>(job: &'a Job, raw_fields: &'a RawFields) -> Object<'a> {
    let raw = |part: &'a Option<Box<RawValue>>| part.as_deref().map(|json| Raw::new(json.get()));
    let text = |text: &'a Option<String>| text.as_deref().unwrap_or_default().into();
    let managed_by = job.spec.as_ref().and_then(|s| s.managed_by.as_deref());
    let view = view::Job {
        spec: job
            .spec
            .as_ref()
            .map(|spec| view_spec(spec, raw(&raw_fields.template)))
            .unwrap_or_default(),
        status: job.status.as_ref().map(view_status).unwrap_or_default(),
        ..view::Job::default()
    };
    Object {
        metadata: Metadata {
            name: text(&job.metadata.name),
            uid: text(&job.metadata.uid),
            is_being_deleted: job.metadata.deletion_timestamp.is_some(),
            labels: raw(&raw_fields.labels),
            finalizers: raw(&raw_fields.finalizers),
            owner_references: raw(&raw_fields.owner_references),
        },
        managed_by: managed_by.map(Into::into),
        job: Some(Box::new(view)),
        custom: None,
    }
}

fn view_spec<'a>(spec: &'a JobSpec, template: Option<Raw<'a>>) -> view::JobSpec<'a> {
    view::JobSpec {
        completions: spec.completions,
        parallelism: spec.parallelism,
        completion_mode: spec.completion_mode.as_deref().map(Into::into),
        backoff_limit_per_index: spec.backoff_limit_per_index,
        suspend: spec.suspend.unwrap_or_default(),
        manual_selector: spec.manual_selector.unwrap_or_default(),
        ttl_seconds_after_finished: spec.ttl_seconds_after_finished,
        has_success_policy: spec.success_policy.is_some(),
        template,
        ..view::JobSpec::default()
    }
}

fn view_status(status: &JobStatus) -> view::JobStatus<'_> {
    let mut conditions = Conditions::default();
    for condition in status.conditions.iter().flatten() {
        conditions.add(&condition.type_, &condition.status);
    }
    let uncounted = status.uncounted_terminated_pods.as_ref();
    view::JobStatus {
        active: status.active.unwrap_or_default(),
        succeeded: status.succeeded.unwrap_or_default(),
        failed: status.failed.unwrap_or_default(),
        ready: status.ready,
        terminating: status.terminating,
        start_time: status.start_time.as_ref().map(view_time),
        completion_time: status.completion_time.as_ref().map(view_time),
        completed_indexes: status
            .completed_indexes
            .as_deref()
            .unwrap_or_default()
            .into(),
        failed_indexes: status.failed_indexes.as_deref().map(Into::into),
        uncounted: uncounted.map(|pods| Uncounted {
            succeeded: pods.succeeded.as_deref().map(view_uids),
            failed: pods.failed.as_deref().map(view_uids),
        }),
        conditions,
    }
}

fn view_uids(uids: &[String]) -> Vec<Cow<'_, str>> {
    uids.iter().map(|uid| uid.as_str().into()).collect()
}

/// Truncates to whole seconds, like the serialization of `k8s-openapi`.
fn view_time(time: &Time) -> time::Time {
    let seconds = time.0.as_second();
    // Before 1970, both fields are negative.
    let is_rounded_up = time.0.subsec_nanosecond() < 0;
    time::Time::from_unix(seconds.saturating_sub(i64::from(is_rounded_up)))
}

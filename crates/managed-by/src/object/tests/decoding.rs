//! The borrowed view against `k8s-openapi`'s types: a typed object that was written as JSON reads the same through both.

use k8s_openapi::api::batch::v1::{
    CronJob, CronJobSpec, Job, JobCondition, JobSpec, JobStatus, JobTemplateSpec, SuccessPolicy,
    UncountedTerminatedPods,
};
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::object::Object;
use crate::object::job::{self as view, ConditionTypes};
use crate::request::{AdmissionRequest, Change, Subject};

/// The condition types that rules read, as the API writes them.
const TYPES: [(&str, ConditionTypes); 5] = [
    ("Complete", ConditionTypes::COMPLETE),
    ("Failed", ConditionTypes::FAILED),
    ("FailureTarget", ConditionTypes::FAILURE_TARGET),
    ("SuccessCriteriaMet", ConditionTypes::SUCCESS_CRITERIA_MET),
    ("Suspended", ConditionTypes::SUSPENDED),
];

prop_compose! {
    fn pod_template()(env in prop::collection::vec((".*", ".*"), 0..4), image in ".*") -> PodTemplateSpec {
        let env = env.into_iter().map(|(name, value)| EnvVar { name, value: Some(value), ..EnvVar::default() });
        let container = Container { image: Some(image), env: Some(env.collect()), ..Container::default() };
        let spec = PodSpec { containers: vec![container], ..PodSpec::default() };
        PodTemplateSpec { spec: Some(spec), ..PodTemplateSpec::default() }
    }
}

prop_compose! {
    pub(crate) fn spec()(
        managed_by in prop::option::of(".{0,80}"),
        suspend in any::<Option<bool>>(),
        completions in any::<Option<i32>>(),
        parallelism in any::<Option<i32>>(),
        completion_mode in prop::option::of(prop::sample::select(vec!["Indexed", "NonIndexed"])),
        backoff_limit_per_index in any::<Option<i32>>(),
        success_policy in prop::option::of(Just(SuccessPolicy::default())),
        template in pod_template(),
    ) -> JobSpec {
        let completion_mode = completion_mode.map(str::to_owned);
        JobSpec {
            managed_by, suspend, completions, parallelism, completion_mode, backoff_limit_per_index, success_policy,
            template, ..JobSpec::default()
        }
    }
}

fn time() -> impl Strategy<Value = Option<Time>> {
    // The years of four digits, which RFC 3339 can write.
    let seconds = -62_135_596_800_i64..253_402_207_200;
    prop::option::of(seconds.prop_map(|s| Time(Timestamp::from_second(s).unwrap())))
}

fn condition() -> impl Strategy<Value = JobCondition> {
    let known = TYPES.map(|(word, _)| word);
    let type_ = prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        ".{0,9}"
    ];
    let status = prop::sample::select(vec!["True", "False", "Unknown", "true", ""]);
    (type_, status, prop::option::of(".*"), time()).prop_map(|(type_, status, message, at)| {
        JobCondition {
            type_,
            status: status.to_owned(),
            message,
            last_transition_time: at,
            ..JobCondition::default()
        }
    })
}

prop_compose! {
    fn uncounted()(
        succeeded in prop::option::of(prop::collection::vec(".{0,40}", 0..4)),
        failed in prop::option::of(prop::collection::vec(".{0,40}", 0..4)),
    ) -> UncountedTerminatedPods {
        UncountedTerminatedPods { succeeded, failed }
    }
}

prop_compose! {
    pub(crate) fn status()(
        counters in any::<[Option<i32>; 5]>(),
        times in [time(), time()],
        completed_indexes in prop::option::of(".{0,20}"),
        failed_indexes in prop::option::of(".{0,20}"),
        uncounted_terminated_pods in prop::option::of(uncounted()),
        conditions in prop::option::of(prop::collection::vec(condition(), 0..5)),
    ) -> JobStatus {
        let [active, succeeded, failed, ready, terminating] = counters;
        let [start_time, completion_time] = times;
        JobStatus {
            active, succeeded, failed, ready, terminating, start_time, completion_time, completed_indexes, failed_indexes,
            uncounted_terminated_pods, conditions,
        }
    }
}

/// What the view of a spec must be, with the defaults of `SetDefaults_Job`.
fn expected_spec(spec: &JobSpec) -> view::JobSpec {
    let (completions, parallelism) = match (spec.completions, spec.parallelism) {
        (None, None) => (Some(1), Some(1)),
        (completions, None) => (completions, Some(1)),
        both => both,
    };
    view::JobSpec {
        completions,
        parallelism,
        completion_mode: match spec.completion_mode.as_deref() {
            Some("Indexed") => view::CompletionMode::Indexed,
            _ => view::CompletionMode::NonIndexed,
        },
        backoff_limit_per_index: spec.backoff_limit_per_index.is_some(),
        suspend: spec.suspend == Some(true),
        success_policy: spec.success_policy.is_some(),
    }
}

/// Whether the view of a status holds what the typed one does, field by field.
fn reads(status: &JobStatus, read: &view::JobStatus<'_>) -> bool {
    let instant = |time: &Option<Time>| {
        let text = time.as_ref().map(|t| t.0.to_string());
        text.map(|text| crate::upstream::time::Time::parse(&text).unwrap())
    };
    let list = |uids: &Option<Vec<String>>| {
        uids.clone()
            .map(|uids| uids.into_iter().map(Into::into).collect())
    };
    let uncounted = status
        .uncounted_terminated_pods
        .as_ref()
        .map(|pods| view::Uncounted {
            succeeded: list(&pods.succeeded),
            failed: list(&pods.failed),
        });
    let says = |condition: &str, word: &str| {
        let is = |c: &JobCondition| c.type_ == condition && c.status == word;
        status.conditions.iter().flatten().any(is)
    };
    read.active == status.active.unwrap_or_default()
        && read.succeeded == status.succeeded.unwrap_or_default()
        && read.failed == status.failed.unwrap_or_default()
        && (read.ready, read.terminating) == (status.ready, status.terminating)
        && read.start_time == instant(&status.start_time)
        && read.completion_time == instant(&status.completion_time)
        && *read.completed_indexes == *status.completed_indexes.clone().unwrap_or_default()
        && read.failed_indexes.as_deref() == status.failed_indexes.as_deref()
        && read.uncounted == uncounted
        && TYPES.into_iter().all(|(word, condition)| {
            read.conditions.is_true(condition) == says(word, "True")
                && read.conditions.is_false(condition) == says(word, "False")
        })
}

/// The request in which `old` becomes `object`, or `object` is created.
fn payload(kind: &str, object: &Value, old: &Value, pretty: bool) -> Vec<u8> {
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    let request = json!({
        "kind": {"group": "batch", "version": "v1", "kind": kind},
        "operation": operation,
        "object": object,
        "oldObject": old,
    });
    let text = if pretty {
        format!("{request:#}")
    } else {
        request.to_string()
    };
    text.into_bytes()
}

fn job(name: Option<&str>, (spec, status): &(JobSpec, JobStatus)) -> Value {
    let job = Job {
        metadata: metadata(name),
        spec: Some(spec.clone()),
        status: Some(status.clone()),
    };
    json!(job)
}

fn metadata(name: Option<&str>) -> ObjectMeta {
    ObjectMeta {
        name: name.map(str::to_owned),
        ..ObjectMeta::default()
    }
}

proptest! {
    #[test]
    fn a_job_reads_the_same(
        name in prop::option::of(".*"), new in (spec(), status()), old in (spec(), status()), pretty in any::<bool>()
    ) {
        let name = name.as_deref();
        let bytes = payload("Job", &job(name, &new), &job(name, &old), pretty);
        let request = AdmissionRequest::from_json(&bytes).unwrap();
        prop_assert_eq!(&*request.name, name.unwrap_or_default());
        let read = |(spec, status): &(JobSpec, JobStatus), object: &Object<'_>| {
            let job = object.job.as_ref().unwrap();
            object.managed_by.as_deref() == spec.managed_by.as_deref()
                && job.spec == expected_spec(spec)
                && reads(status, &job.status)
        };
        let same = match &request.subject {
            Subject::Change(_, Change::Update { object, old: stored }) => read(&new, object) && read(&old, stored),
            _ => false,
        };
        prop_assert!(same, "{:?}", request);
    }

    #[test]
    fn a_cron_job_reads_the_same(spec in spec(), schedule in ".*", pretty in any::<bool>()) {
        let job_template = JobTemplateSpec { metadata: None, spec: Some(spec.clone()) };
        let cron_spec = CronJobSpec { job_template, schedule, ..CronJobSpec::default() };
        let cron = CronJob { metadata: metadata(None), spec: cron_spec, ..CronJob::default() };
        let bytes = payload("CronJob", &json!(cron), &Value::Null, pretty);
        let request = AdmissionRequest::from_json(&bytes).unwrap();
        let same = match &request.subject {
            Subject::Change(_, Change::Create { object }) => object.managed_by.as_deref() == spec.managed_by.as_deref(),
            _ => false,
        };
        prop_assert!(same, "{:?}", request);
    }
}

//! The borrowed view against `k8s-openapi`'s types: a typed object that was written as JSON reads the same through both.

use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use managed_by::AdmissionRequest;
use managed_by::request::{Change, Object, Subject};
use proptest::prelude::*;
use serde_json::{Value, json};

prop_compose! {
    fn pod_template()(env in prop::collection::vec((".*", ".*"), 0..4), image in ".*") -> PodTemplateSpec {
        let env = env.into_iter().map(|(name, value)| EnvVar { name, value: Some(value), ..EnvVar::default() });
        let container = Container { image: Some(image), env: Some(env.collect()), ..Container::default() };
        let spec = PodSpec { containers: vec![container], ..PodSpec::default() };
        PodTemplateSpec { spec: Some(spec), ..PodTemplateSpec::default() }
    }
}

prop_compose! {
    fn spec()(managed_by in prop::option::of(".{0,80}"), suspend in any::<Option<bool>>(), template in pod_template()) -> JobSpec {
        JobSpec { managed_by, suspend, template, ..JobSpec::default() }
    }
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

fn job(name: Option<&str>, spec: &JobSpec) -> Value {
    let job = Job {
        metadata: metadata(name),
        spec: Some(spec.clone()),
        ..Job::default()
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
    fn a_job_reads_the_same(name in prop::option::of(".*"), new in spec(), old in spec(), pretty in any::<bool>()) {
        let name = name.as_deref();
        let bytes = payload("Job", &job(name, &new), &job(name, &old), pretty);
        let request = AdmissionRequest::from_json(&bytes).unwrap();
        prop_assert_eq!(&*request.name, name.unwrap_or_default());
        let read = |wanted: &JobSpec, object: &Object<'_>| object.managed_by.as_deref() == wanted.managed_by.as_deref();
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

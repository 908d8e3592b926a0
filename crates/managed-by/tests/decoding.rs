//! The borrowed view against `k8s-openapi`'s types: a typed object that was written as JSON reads the same through both.

use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use managed_by::AdmissionRequest;
use managed_by::request::{Change, Subject};
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

fn metadata(name: Option<String>) -> ObjectMeta {
    ObjectMeta {
        name,
        ..ObjectMeta::default()
    }
}

fn payload(kind: &str, object: Value, old: Option<Value>, pretty: bool) -> Vec<u8> {
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let request = json!({
        "kind": {"group": "batch", "version": "v1", "kind": kind},
        "operation": operation,
        "object": object,
        "oldObject": old,
    });
    let write = if pretty {
        serde_json::to_vec_pretty
    } else {
        serde_json::to_vec
    };
    write(&request).unwrap()
}

fn change(bytes: &[u8]) -> (AdmissionRequest<'_>, Option<String>, Option<Option<String>>) {
    let request = AdmissionRequest::from_json(bytes).unwrap();
    let Subject::Change(_, change) = &request.subject else {
        panic!("{request:?}");
    };
    let owned = |value: &Option<std::borrow::Cow<'_, str>>| value.as_deref().map(str::to_owned);
    let new = owned(&change.object().managed_by);
    let old = match change {
        Change::Update { old, .. } | Change::UpdateStatus { old, .. } => {
            Some(owned(&old.managed_by))
        }
        Change::Create { .. } => None,
    };
    (request, new, old)
}

proptest! {
    #[test]
    fn a_job_reads_the_same(name in prop::option::of(".*"), new in spec(), old in spec(), pretty in any::<bool>()) {
        let job = |spec: &JobSpec| {
            let job = Job { metadata: metadata(name.clone()), spec: Some(spec.clone()), ..Job::default() };
            serde_json::to_value(job).unwrap()
        };
        let bytes = payload("Job", job(&new), Some(job(&old)), pretty);
        let (request, new_value, old_value) = change(&bytes);
        prop_assert_eq!(&*request.name, name.as_deref().unwrap_or_default());
        prop_assert_eq!(new_value, new.managed_by);
        prop_assert_eq!(old_value, Some(old.managed_by));
    }

    #[test]
    fn a_cron_job_reads_the_same(spec in spec(), schedule in ".*", pretty in any::<bool>()) {
        let template = JobTemplateSpec { metadata: None, spec: Some(spec.clone()) };
        let cron = CronJob {
            metadata: metadata(None),
            spec: CronJobSpec { job_template: template, schedule, ..CronJobSpec::default() },
            ..CronJob::default()
        };
        let bytes = payload("CronJob", serde_json::to_value(cron).unwrap(), None, pretty);
        let (_, value, old) = change(&bytes);
        prop_assert_eq!(value, spec.managed_by);
        prop_assert_eq!(old, None);
    }
}

//! Comparison of typed Jobs with the same Jobs as JSON.

use k8s_openapi::api::batch::v1::{
    Job, JobCondition, JobSpec, JobStatus, SuccessPolicy, UncountedTerminatedPods,
};
use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;

use super::JobChecker;
use super::view::{RawFields, object};
use crate::decode::decode_str;
use crate::kind::Kind;
use crate::object::ObjectSeed;
use crate::release::{Release, ReleaseSet};
use crate::request::{AdmissionRequest, Change, UserInfo};
use crate::settings::Settings;

prop_compose! {
    fn spec()(
        managed_by in prop::option::of(".{0,80}"),
        suspend in any::<Option<bool>>(),
        completions in any::<Option<i32>>(),
        parallelism in any::<Option<i32>>(),
        completion_mode in prop::option::of(prop::sample::select(vec!["Indexed", "NonIndexed"])),
        backoff_limit_per_index in any::<Option<i32>>(),
        success_policy in prop::option::of(Just(SuccessPolicy::default())),
        hostname in prop::option::of(".*"),
    ) -> JobSpec {
        let pod = PodSpec { hostname, ..PodSpec::default() };
        JobSpec {
            managed_by, suspend, completions, parallelism, backoff_limit_per_index, success_policy,
            completion_mode: completion_mode.map(str::to_owned),
            template: PodTemplateSpec { spec: Some(pod), ..PodTemplateSpec::default() },
            ..JobSpec::default()
        }
    }
}

/// Times with a four-digit year, as RFC 3339 requires. `Time` serializes without fractional seconds, so the typed view must drop
/// them.
fn time() -> impl Strategy<Value = Option<Time>> {
    let instant = (-62_135_596_800_i64..253_402_207_200, 0..1_000_000_000);
    prop::option::of(instant.prop_map(|(second, nano)| Time(Timestamp::new(second, nano).unwrap())))
}

fn conditions() -> impl Strategy<Value = Vec<JobCondition>> {
    let read = [
        "Complete",
        "Failed",
        "FailureTarget",
        "SuccessCriteriaMet",
        "Suspended",
    ];
    let type_ = prop_oneof![
        prop::sample::select(read.to_vec()).prop_map(str::to_owned),
        ".{0,9}"
    ];
    let status = prop::sample::select(vec!["True", "False", "Unknown", "true", ""]);
    let condition = (type_, status, time()).prop_map(|(type_, status, at)| JobCondition {
        type_,
        status: status.to_owned(),
        last_transition_time: at,
        ..JobCondition::default()
    });
    prop::collection::vec(condition, 0..5)
}

prop_compose! {
    fn status()(
        counters in any::<[Option<i32>; 5]>(),
        times in [time(), time()],
        completed_indexes in prop::option::of(".{0,20}"),
        failed_indexes in prop::option::of(".{0,20}"),
        uids in prop::option::of(any::<[Option<Vec<String>>; 2]>()),
        conditions in prop::option::of(conditions()),
    ) -> JobStatus {
        let [active, succeeded, failed, ready, terminating] = counters;
        let [start_time, completion_time] = times;
        let uncounted = |[succeeded, failed]: [_; 2]| UncountedTerminatedPods { succeeded, failed };
        JobStatus {
            active, succeeded, failed, ready, terminating, start_time, completion_time, completed_indexes, failed_indexes,
            uncounted_terminated_pods: uids.map(uncounted),
            conditions,
        }
    }
}

prop_compose! {
    fn job()(
        name in prop::option::of(".*"),
        labels in prop::option::of(prop::collection::btree_map(".*", ".*", 0..3)),
        is_deleted in any::<bool>(),
        owner in prop::option::of(".*"),
        spec in prop::option::of(spec()),
        status in prop::option::of(status()),
    ) -> Job {
        let owner = owner.map(|name| vec![OwnerReference { name, controller: Some(true), ..OwnerReference::default() }]);
        let metadata = ObjectMeta {
            name,
            labels,
            deletion_timestamp: is_deleted.then_some(Time(Timestamp::UNIX_EPOCH)),
            owner_references: owner,
            uid: Some("u".to_owned()),
            ..ObjectMeta::default()
        };
        Job { metadata, spec, status }
    }
}

proptest! {
    /// Both conversions result in the same view, so that the findings are the same.
    #[test]
    fn a_typed_job_has_the_view_of_its_json(job in job()) {
        let json = serde_json::to_string(&job).unwrap();
        let kind = Kind::find("batch", "v1", "Job").unwrap();
        let read = decode_str(&json, ObjectSeed(kind)).unwrap();
        let raw_fields = RawFields::new(&job);
        let debug = |object: crate::object::Object<'_>| format!("{object:?}");
        prop_assert_eq!(debug(read.unwrap()), debug(object(&job, &raw_fields)));
    }
}

fn with_status(status: JobStatus) -> Job {
    let spec = JobSpec {
        managed_by: Some("acme.io/runner".to_owned()),
        ..JobSpec::default()
    };
    Job {
        spec: Some(spec),
        status: Some(status),
        ..Job::default()
    }
}

fn condition(type_: &str) -> JobCondition {
    JobCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        ..JobCondition::default()
    }
}

#[test]
fn denials_exclude_warnings() {
    let mut misspelt = with_status(JobStatus::default());
    misspelt.spec.as_mut().unwrap().managed_by = Some("kueue.x-k8s.io/multikeueu".to_owned());
    let findings = JobChecker::default().create(&misspelt);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let text = findings[0].to_string();
    assert!(
        text.starts_with("1.32 to 1.37: warning: spec.managedBy: "),
        "{text}"
    );
    assert_ne!(findings, []);
    assert_eq!(findings.denials(), [] as [&super::Finding; 0]);
    assert_eq!(findings.denied_by(), ReleaseSet::default());

    let ready = with_status(JobStatus {
        ready: Some(1),
        ..JobStatus::default()
    });
    let findings = JobChecker::default().status_update(&with_status(JobStatus::default()), &ready);
    assert_eq!(findings.denials(), [&findings[0]]);
    assert_eq!(findings.denied_by().to_string(), "1.32 to 1.37");
    // Debug output for failed assertions.
    assert_eq!(
        format!("{findings:?}, {:?}", findings[0].releases.unwrap()),
        "[Finding(1.32 to 1.37: status.ready: Invalid value: 1: cannot set more ready pods than active \
         [job-status/ready-exceeds-active])], ReleaseSet(1.32 to 1.37)"
    );
    assert_eq!(findings.into_iter().count(), 1);
}

#[test]
fn releases_with_different_messages_are_listed_separately() {
    let at = |second| Some(Time(Timestamp::from_second(second).unwrap()));
    let completed = |end| JobStatus {
        start_time: at(0),
        completion_time: at(end),
        conditions: Some(vec![condition("SuccessCriteriaMet"), condition("Complete")]),
        ..JobStatus::default()
    };
    let (old, new) = (with_status(completed(5)), with_status(completed(6)));
    let two: ReleaseSet = [Release::V1_33, Release::V1_34].into_iter().collect();
    let findings = JobChecker::new(two).status_update(&old, &new);
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(
        finding.to_string(),
        "1.33 from 1.33.6: status.completionTime: Invalid value: 1970-01-01 00:00:06 +0000 UTC: completionTime cannot be mutated \
         [job-status/completion-time-changed]\n\
         1.34 from 1.34.2: status.completionTime: Invalid value: \"1970-01-01T00:00:06Z\": field is immutable \
         [job-status/completion-time-changed]"
    );
    let findings = JobChecker::new(Release::V1_33).status_update(&old, &new);
    assert_eq!(findings[0].detail, "completionTime cannot be mutated");
}

#[test]
fn a_status_writer_may_be_a_group() {
    let settings = br#"{"controllers":{"acme.io/runner":{"status_writers":["runners"]}}}"#;
    let settings = Settings::from_json(settings).unwrap();
    let checker = JobChecker::new(Release::V1_37).with_settings(settings);
    let old = with_status(JobStatus::default());
    let new = with_status(JobStatus {
        active: Some(1),
        ..JobStatus::default()
    });
    let checker_for = |groups: &[&str]| checker.clone().with_user("ana", groups);
    assert_eq!(checker_for(&["runners"]).status_update(&old, &new), []);
    let found = checker_for(&["people"]).status_update(&old, &new);
    assert_eq!(found[0].rule.id(), "status-writer/delegated");
}

#[test]
fn the_namespace_of_the_job_selects_its_settings() {
    let settings = br#"{"namespaces":[{"match":["team-a"],"delegation":"forbidden"}]}"#;
    let checker = JobChecker::default().with_settings(Settings::from_json(settings).unwrap());
    let mut job = with_status(JobStatus::default());
    assert_eq!(checker.create(&job), []);
    job.metadata.namespace = Some("team-a".to_owned());
    assert_eq!(checker.create(&job)[0].rule.id(), "managed-by/delegation");
}

/// kube-apiserver drops the status of a create, but a stored Job has one.
#[test]
fn the_status_of_a_create_is_ignored() {
    let job = with_status(JobStatus {
        active: Some(-1),
        ..JobStatus::default()
    });
    let checker = JobChecker::new(Release::V1_37);
    assert_eq!(checker.create(&job), []);
    assert_ne!(checker.stored(&job), []);

    let mut created = job.clone();
    created.status = None;
    let kind = Kind::find("batch", "v1", "Job").unwrap();
    let raw_fields = RawFields::new(&job);
    let object = || object(&job, &raw_fields);
    for (change, stored) in [
        (Change::Create { object: object() }, &created),
        (Change::Stored { object: object() }, &job),
    ] {
        let request = AdmissionRequest::from_typed(kind, change, UserInfo::default(), &job, None);
        let bytes = serde_json::to_vec(stored).unwrap().len();
        assert_eq!(request.source.object_sizes(0), [bytes, 0]);
    }
}

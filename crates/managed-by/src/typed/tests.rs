//! Typed Jobs against the same Jobs written as JSON.

use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;

use super::JobChecker;
use super::view::{Parts, object};
use crate::decode::{Note, Place, document};
use crate::description::Enforcement;
use crate::kind::Kind;
use crate::object::Object;
use crate::object::tests::decoding::{spec, status};
use crate::release::{Release, ReleaseSet};
use crate::request::{AdmissionRequest, Change, UserInfo};

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
    /// The rules see one Job in both: what they say of it follows.
    #[test]
    fn a_typed_job_is_seen_as_its_json_is(job in job()) {
        let json = serde_json::to_string(&job).unwrap();
        let kind = Kind::find("batch", "v1", "Job").unwrap();
        let note = Note::default();
        let place = Place::root(&note);
        let read = document(json.as_bytes(), place, |value| Object::read(value, kind, None)).unwrap();
        let parts = Parts::of_metadata(&job).with_template(&job);
        prop_assert_eq!(read.unwrap().unwrap(), object(&job, &parts));
    }
}

#[test]
fn a_fraction_of_a_second_is_cut_off_as_in_json() {
    for (second, nanosecond) in [(5, 999_999_999), (-5, -999_999_999), (-5, 0), (0, -1)] {
        let time = Time(Timestamp::new(second, nanosecond).unwrap());
        let status = JobStatus {
            start_time: Some(time),
            ..JobStatus::default()
        };
        let job = with_status(status);
        let json = serde_json::to_string(&job).unwrap();
        let kind = Kind::find("batch", "v1", "Job").unwrap();
        let note = Note::default();
        let read = document(json.as_bytes(), Place::root(&note), |value| {
            Object::read(value, kind, None)
        });
        let read = read.unwrap().unwrap().unwrap();
        let parts = Parts::default();
        let typed = object(&job, &parts).job.unwrap().status;
        assert_eq!(read.job.unwrap().status, typed, "{second} {nanosecond}");
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

/// A suspended Job whose pods go to a pool.
fn suspended(pool: &str, status: JobStatus) -> Job {
    let pod = PodSpec {
        node_selector: Some([("pool".to_owned(), pool.to_owned())].into()),
        ..PodSpec::default()
    };
    let spec = JobSpec {
        suspend: Some(true),
        template: PodTemplateSpec {
            spec: Some(pod),
            ..PodTemplateSpec::default()
        },
        ..JobSpec::default()
    };
    Job {
        spec: Some(spec),
        status: Some(status),
        ..Job::default()
    }
}

/// An assertion that fails prints this.
#[test]
fn debug_says_what_display_says() {
    let ready = with_status(JobStatus {
        ready: Some(1),
        ..JobStatus::default()
    });
    let findings = JobChecker::default().status_update(&with_status(JobStatus::default()), &ready);
    assert_eq!(
        format!("{findings:?}"),
        "[JudgedFinding(1.31 to 1.37: status.ready: Invalid value: 1: cannot set more ready pods than active \
         [job-status/ready-exceeds-active])]"
    );
    let set = format!("{:?}", findings[0].releases());
    assert_eq!(set, "ReleaseSet(1.31 to 1.37)");
}

#[test]
fn denials_are_told_from_warnings() {
    let directed = |pool| suspended(pool, JobStatus::default());
    let mut resumed = directed("b");
    resumed.spec.as_mut().unwrap().suspend = Some(false);
    // Only the first patches of 1.36 deny it.
    let findings = JobChecker::default().update(&directed("a"), &resumed);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_ne!(findings, []);
    assert_eq!(
        findings.denials(),
        [] as [&super::JudgedFinding<'static>; 0]
    );
    assert_eq!(findings.denied_by(), ReleaseSet::default());

    let ready = with_status(JobStatus {
        ready: Some(1),
        ..JobStatus::default()
    });
    let findings = JobChecker::default().status_update(&with_status(JobStatus::default()), &ready);
    assert_eq!(findings.denials(), [&findings[0]]);
    assert_eq!(findings.denied_by().to_string(), "1.31 to 1.37");
    assert_eq!(findings.into_iter().count(), 1);
}

/// A struct of a test suite keeps it, with no text beside it.
#[test]
fn a_checker_owns_its_settings() {
    struct Suite {
        checker: JobChecker,
    }
    let suite = {
        let settings = "{\"controllers\":{\"acme.io/other\":{}}}".to_owned();
        let checker = JobChecker::default().with_settings(settings).unwrap();
        Suite { checker }
    };
    let findings = suite.checker.create(&with_status(JobStatus::default()));
    let rules: Vec<_> = findings.iter().map(|f| f.rule().id()).collect();
    assert_eq!(rules, ["managed-by/allowed"]);
}

fn lines(findings: &[super::JudgedFinding<'_>]) -> Vec<String> {
    let told = findings.iter().map(ToString::to_string);
    told.flat_map(|told| told.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn what_releases_say_otherwise_is_told_apart() {
    let at = |second| Some(Time(Timestamp::from_second(second).unwrap()));
    let completed = |end| JobStatus {
        start_time: at(0),
        completion_time: at(end),
        conditions: Some(vec![condition("SuccessCriteriaMet"), condition("Complete")]),
        ..JobStatus::default()
    };
    let (old, new) = (with_status(completed(5)), with_status(completed(6)));
    // 1.30 wants a success policy.
    let since_1_31: ReleaseSet = Release::ALL.iter().copied().skip(1).collect();
    let checker = JobChecker::new(since_1_31);
    assert_eq!(
        lines(&checker.status_update(&old, &new)),
        [
            "1.31 to 1.33: status.completionTime: Invalid value: 1970-01-01 00:00:06 +0000 UTC: completionTime cannot be \
             mutated [job-status/completion-time-changed]",
            "1.34 to 1.37: status.completionTime: Invalid value: \"1970-01-01T00:00:06Z\": field is immutable \
             [job-status/completion-time-changed]",
        ]
    );
    let one = JobChecker::new(Release::V1_33);
    let findings = one.status_update(&old, &new);
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(finding.path(), "status.completionTime");
    assert_eq!(finding.detail(), "completionTime cannot be mutated");
    assert_eq!(finding.enforcement(), Enforcement::Deny);
    assert_eq!(finding.releases(), ReleaseSet::from(Release::V1_33));
    assert_eq!(one.status_update(&old, &old), []);
}

/// kubernetes-sigs/kueue#11614: MultiKueue's hub had no `Suspended` condition to show when Kueue resumed the Job.
#[test]
fn the_scheduling_directives_hang_on_the_status() {
    let checker = JobChecker::default();
    let check = |status: &JobStatus| {
        let old = suspended("a", status.clone());
        let mut new = suspended("b", status.clone());
        new.spec.as_mut().unwrap().suspend = Some(false);
        lines(&checker.update(&old, &new))
    };
    let rule = "[job-spec/scheduling-directives]";
    let denied = |releases: &str| {
        format!("{releases}: spec.template: Invalid value: field is immutable {rule}")
    };
    let mut status = JobStatus::default();
    assert_eq!(
        check(&status),
        [format!(
            "1.36: warning: spec.template: Invalid value: kube-apiserver 1.36.0 and 1.36.1 take it only with the condition \
             Suspended=True {rule}"
        )]
    );
    status.conditions = Some(vec![condition("Suspended")]);
    assert_eq!(check(&status), [""; 0]);
    status.start_time = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(check(&status), [denied("1.30 to 1.35")]);
    status.active = Some(1);
    assert_eq!(check(&status), [denied("1.30 to 1.37")]);
    status.start_time = None;
    assert_eq!(check(&status), [denied("1.36 to 1.37")]);
}

#[test]
fn a_site_s_rules_are_judged_with_its_settings() {
    let settings = br#"{"controllers":{"acme.io/runner":{"status_writers":["runner","runners"]}}}"#;
    let checker = JobChecker::new(Release::V1_37)
        .with_settings(settings)
        .unwrap();
    let old = with_status(JobStatus::default());
    let new = with_status(JobStatus {
        active: Some(1),
        ..JobStatus::default()
    });
    for (user, groups) in [("runner", &[][..]), ("ana", &["runners"])] {
        let writer = checker.clone().as_user(user, groups);
        assert_eq!(writer.status_update(&old, &new), [], "{user}");
    }
    assert_eq!(checker.status_update(&old, &old), []);
    let findings = checker
        .as_user("ana", &["people"])
        .status_update(&old, &new);
    let rules: Vec<_> = findings.iter().map(|f| f.rule().id()).collect();
    assert_eq!(rules, ["status-writer/delegated"]);
    let problems = JobChecker::default().with_settings(b"{\"role\":5}");
    assert_eq!(
        problems.unwrap_err().to_string(),
        "invalid settings: role: got the number 5, expected one of hybrid, management, worker"
    );
}

/// kube-apiserver drops the status of a create, whatever is in it. What is stored has one that counts.
#[test]
fn a_create_brings_no_status() {
    let job = with_status(JobStatus {
        active: Some(-1),
        conditions: Some(vec![condition("Complete")]),
        ..JobStatus::default()
    });
    let checker = JobChecker::new(Release::V1_37);
    assert_eq!(lines(&checker.create(&job)), [""; 0]);
    let stored = checker.stored(&job);
    let told: Vec<_> = stored.iter().map(|found| found.rule().id()).collect();
    assert_eq!(told, lines_of_json(&job));
    assert!(told.contains(&"job-status/negative-counter"), "{told:?}");

    let mut created = job.clone();
    created.status = None;
    let (kind, parts) = (
        Kind::find("batch", "v1", "Job").unwrap(),
        Parts::of_metadata(&job),
    );
    for (change, stored) in [
        (
            Change::Create {
                object: object(&job, &parts),
            },
            &created,
        ),
        (
            Change::Stored {
                object: object(&job, &parts),
            },
            &job,
        ),
    ] {
        let request = AdmissionRequest::of_typed(kind, change, UserInfo::default(), &job, None);
        let bytes = serde_json::to_vec(stored).unwrap().len();
        assert_eq!(request.object_sizes(0), [bytes, 0]);
    }
}

/// The rules that fire on a Job in a CREATE with its status, as the background audit sends it.
fn lines_of_json(job: &Job) -> Vec<&'static str> {
    let request = serde_json::json!({
        "operation": "CREATE", "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "object": job,
    });
    let request = request.to_string();
    let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
    let settings = crate::Settings::for_release(Release::V1_37);
    let verdict = crate::review(&request, &settings);
    let rules = verdict.findings.iter();
    rules.map(|(_, finding)| finding.rule().id()).collect()
}

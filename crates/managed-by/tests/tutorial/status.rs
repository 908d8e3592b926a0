use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use managed_by::{JobChecker, Release};

/// Part of your controller: returns the status of a Job whose last pod has succeeded.
fn finished(old: &JobStatus, at: &Time) -> JobStatus {
    let condition = |type_: &str| JobCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(at.clone()),
        ..JobCondition::default()
    };
    JobStatus {
        active: Some(0),
        ready: Some(0),
        succeeded: Some(1),
        completion_time: Some(at.clone()),
        conditions: Some(vec![condition("SuccessCriteriaMet"), condition("Complete")]),
        ..old.clone()
    }
}

#[test]
fn finished_job_status_is_valid() {
    let [start, end] = [0, 3600].map(|second| Time(Timestamp::from_second(second).unwrap()));
    let spec = JobSpec { managed_by: Some("acme.io/runner".to_owned()), ..JobSpec::default() };
    let status = JobStatus { start_time: Some(start), active: Some(1), ..JobStatus::default() };
    let ended = Some(finished(&status, &end));
    let old = Job { spec: Some(spec), status: Some(status), ..Job::default() };
    let new = Job { status: ended, ..old.clone() };
    assert_eq!(JobChecker::new(Release::V1_36).status_update(&old, &new), []);
}

//! Every status that the controller writes, evaluated by every release of kube-apiserver from 1.30 to 1.37.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use managed_by::{Enforcement, JobChecker, JobFindings, Release};
use rust_controller::NAME;
use rust_controller::status::{Progress, next};

fn job(suspend: bool) -> Job {
    let spec = JobSpec {
        managed_by: Some(NAME.to_owned()),
        completions: Some(2),
        parallelism: Some(2),
        backoff_limit: Some(1),
        suspend: Some(suspend),
        ..JobSpec::default()
    };
    Job { spec: Some(spec), ..Job::default() }
}

fn minor(release: Release) -> u32 {
    let (_, minor) = release.as_str().split_once('.').unwrap();
    minor.parse().unwrap()
}

/// A Job in a cluster of a release, and what time it is there.
struct Cluster {
    release: Release,
    job: Job,
    seconds: i64,
}

impl Cluster {
    fn new(release: Release, suspend: bool) -> Self {
        Self { release, job: job(suspend), seconds: 0 }
    }

    /// The controller sees its pods so, and writes: the API server has nothing against it.
    fn sees(&mut self, progress: Progress) {
        self.seconds += 10;
        let now = Time(Timestamp::from_second(self.seconds).unwrap());
        let status = Some(next(&self.job, progress, &now, minor(self.release)));
        let new = Job { status, ..self.job.clone() };
        let findings = JobChecker::new(self.release).status_update(&self.job, &new);
        assert_eq!(findings, [], "{:?}", new.status);
        self.job = new;
    }

    /// A queue sets `suspend`, and where the pods go.
    fn suspend(&mut self, suspend: bool, pool: &str) -> JobFindings {
        let old = self.job.clone();
        let spec = self.job.spec.as_mut().unwrap();
        spec.suspend = Some(suspend);
        if !suspend {
            let pod = spec.template.spec.get_or_insert_default();
            pod.node_selector = Some([("pool".to_owned(), pool.to_owned())].into());
        }
        JobChecker::new(self.release).update(&old, &self.job)
    }

    fn has_condition(&self, condition: &str) -> bool {
        let status = self.job.status.as_ref().unwrap();
        let mut conditions = status.conditions.iter().flatten();
        conditions.any(|c| c.type_ == condition && c.status == "True")
    }
}

fn pods(active: i32, terminating: i32, succeeded: i32, failed: i32) -> Progress {
    Progress { active, ready: active, terminating, succeeded, failed }
}

#[test]
fn a_job_succeeds() {
    for &release in Release::ALL {
        let mut cluster = Cluster::new(release, false);
        cluster.sees(pods(2, 0, 0, 0));
        cluster.sees(pods(1, 0, 1, 0));
        cluster.sees(pods(0, 1, 2, 0));
        assert!(!cluster.has_condition("Complete"));
        cluster.sees(pods(0, 0, 2, 0));
        assert!(cluster.has_condition("Complete"));
        // What comes late changes nothing.
        cluster.sees(pods(1, 0, 0, 5));
    }
}

#[test]
fn a_job_fails() {
    for &release in Release::ALL {
        let mut cluster = Cluster::new(release, false);
        cluster.sees(pods(2, 0, 0, 0));
        cluster.sees(pods(1, 1, 1, 2));
        assert!(cluster.has_condition("FailureTarget") && !cluster.has_condition("Failed"));
        // Enough pods have succeeded by now, but the end has been announced.
        cluster.sees(pods(0, 0, 2, 2));
        assert!(cluster.has_condition("Failed"));
    }
}

#[test]
fn a_job_is_suspended_sent_elsewhere_and_resumed() {
    for &release in Release::ALL {
        let mut cluster = Cluster::new(release, true);
        cluster.sees(pods(0, 0, 0, 0));
        assert_eq!(cluster.suspend(false, "a"), []);
        cluster.sees(pods(2, 0, 0, 0));
        cluster.sees(pods(1, 0, 1, 0));
        assert_eq!(cluster.suspend(true, ""), []);
        // The pods need a moment to go.
        cluster.sees(pods(0, 2, 1, 0));
        assert!(!cluster.has_condition("Suspended"));
        cluster.sees(pods(0, 0, 1, 0));
        assert!(cluster.has_condition("Suspended"));
        assert_eq!(cluster.suspend(false, "b"), []);
        // The other cluster counts from nothing.
        cluster.sees(pods(1, 0, 0, 0));
        cluster.sees(pods(0, 0, 2, 0));
        assert!(cluster.has_condition("Complete"));
    }
}

/// The mistake of kubernetes-sigs/kueue#11614: a suspended Job without a status. 1.36.0 and 1.36.1 let no queue resume it.
#[test]
fn a_status_without_suspended_is_found() {
    for &release in Release::ALL {
        let mut cluster = Cluster::new(release, true);
        let findings = cluster.suspend(false, "a");
        let found: Vec<_> = findings.iter().map(|f| (f.rule().id(), f.enforcement())).collect();
        let expected = [("job-spec/scheduling-directives", Enforcement::Warn)];
        let expected = if release == Release::V1_36 { &expected[..] } else { &[] };
        assert_eq!(found, expected, "{release}");
    }
}

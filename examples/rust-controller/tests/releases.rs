//! Evaluates every status that the controller writes, for every release of kube-apiserver from 1.30 to 1.37.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use managed_by::{JobChecker, JobFindings, Release};
use rust_controller::CONTROLLER_NAME;
use rust_controller::status::{Progress, next};

fn job(suspend: bool) -> Job {
    let spec = JobSpec {
        managed_by: Some(CONTROLLER_NAME.to_owned()),
        completions: Some(2),
        parallelism: Some(2),
        backoff_limit: Some(1),
        suspend: Some(suspend),
        ..JobSpec::default()
    };
    Job {
        spec: Some(spec),
        ..Job::default()
    }
}

/// A Job in a cluster of a release, with the current time.
struct Cluster {
    release: Release,
    job: Job,
    seconds: i64,
}

impl Cluster {
    fn new(release: Release, suspend: bool) -> Self {
        Self {
            release,
            job: job(suspend),
            seconds: 0,
        }
    }

    /// Reconciles with a state of the pods, and asserts that there are no findings.
    fn reconcile(&mut self, progress: Progress) {
        self.seconds += 10;
        let now = Time(Timestamp::from_second(self.seconds).unwrap());
        let status = Some(next(&self.job, progress, &now, self.release.minor().into()));
        let new = Job {
            status,
            ..self.job.clone()
        };
        let findings = JobChecker::new(self.release).status_update(&self.job, &new);
        assert_eq!(findings, [], "{:?}", new.status);
        self.job = new;
    }

    /// Sets `suspend` and, to resume the Job, its node selector, like a queue. Returns the findings of the update.
    fn set_suspend(&mut self, suspend: bool, pool: &str) -> JobFindings {
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
    Progress {
        active,
        ready: active,
        terminating,
        succeeded,
        failed,
    }
}

#[test]
fn a_job_succeeds() {
    for &release in Release::ALL {
        let mut cluster = Cluster::new(release, false);
        cluster.reconcile(pods(2, 0, 0, 0));
        cluster.reconcile(pods(1, 0, 1, 0));
        cluster.reconcile(pods(0, 1, 2, 0));
        assert!(!cluster.has_condition("Complete"));
        cluster.reconcile(pods(0, 0, 2, 0));
        assert!(cluster.has_condition("Complete"));
        // Late updates have no effect.
        cluster.reconcile(pods(1, 0, 0, 5));
    }
}

#[test]
fn a_job_fails() {
    for &release in Release::ALL {
        let mut cluster = Cluster::new(release, false);
        cluster.reconcile(pods(2, 0, 0, 0));
        cluster.reconcile(pods(1, 1, 1, 2));
        assert!(cluster.has_condition("FailureTarget") && !cluster.has_condition("Failed"));
        // Enough pods have succeeded, but the failure has been announced.
        cluster.reconcile(pods(0, 0, 2, 2));
        assert!(cluster.has_condition("Failed"));
    }
}

#[test]
fn a_job_is_suspended_rescheduled_and_resumed() {
    for &release in Release::ALL {
        let mut cluster = Cluster::new(release, true);
        cluster.reconcile(pods(0, 0, 0, 0));
        assert_eq!(cluster.set_suspend(false, "a"), []);
        cluster.reconcile(pods(2, 0, 0, 0));
        cluster.reconcile(pods(1, 0, 1, 0));
        assert_eq!(cluster.set_suspend(true, ""), []);
        // The pods are still terminating.
        cluster.reconcile(pods(0, 2, 1, 0));
        assert!(!cluster.has_condition("Suspended"));
        cluster.reconcile(pods(0, 0, 1, 0));
        assert!(cluster.has_condition("Suspended"));
        assert_eq!(cluster.set_suspend(false, "b"), []);
        // The other cluster starts at zero.
        cluster.reconcile(pods(1, 0, 0, 0));
        cluster.reconcile(pods(0, 0, 2, 0));
        assert!(cluster.has_condition("Complete"));
    }
}

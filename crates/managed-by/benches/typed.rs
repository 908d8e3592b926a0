//! What the typed way costs natively: a status update of a Job of 6 KB, by one release and by all.
//!
//! `cargo bench --package managed-by --features k8s-openapi --bench typed`

use divan::{Bencher, black_box};
use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec};
use managed_by::{JobChecker, Release, ReleaseSet};

fn main() {
    divan::main();
}

/// A delegated Job of about 6 KB as JSON, with a status as a controller writes it.
fn job(active: i32) -> Job {
    let status = serde_json::json!({
        "startTime": "2026-01-01T00:00:00Z", "active": active, "ready": active, "succeeded": 40, "failed": 2, "terminating": 0,
        "completedIndexes": "0-9,12,14-40", "failedIndexes": "10,11",
        "uncountedTerminatedPods": {"succeeded": ["a0d6f7b2", "b7c1"], "failed": []},
        "conditions": [{"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"}],
    });
    let status: Option<JobStatus> = serde_json::from_value(status).ok();
    let variable = |n: usize| EnvVar {
        name: format!("VARIABLE_{n}"),
        value: Some(format!("value number {n} of the container")),
        ..EnvVar::default()
    };
    let container = Container {
        name: "pi".to_owned(),
        image: Some("perl:5.34".to_owned()),
        env: Some((0..75).map(variable).collect()),
        ..Container::default()
    };
    let mut job = Job {
        status,
        ..Job::default()
    };
    job.metadata.name = Some("pi".to_owned());
    let spec = job.spec.get_or_insert_default();
    spec.managed_by = Some("acme.io/runner".to_owned());
    spec.completion_mode = Some("Indexed".to_owned());
    spec.completions = Some(100);
    spec.parallelism = Some(10);
    spec.backoff_limit_per_index = Some(1);
    spec.template.spec = Some(PodSpec {
        containers: vec![container],
        ..PodSpec::default()
    });
    job
}

#[divan::bench(args = ["1.37", "all"])]
fn status_update(bencher: Bencher, releases: &str) {
    let set = match releases.parse::<Release>() {
        Ok(release) => release.into(),
        Err(_) => ReleaseSet::all(),
    };
    let checker = JobChecker::new(set);
    let (old, new) = (job(8), job(7));
    bencher.bench(|| black_box(&checker).status_update(black_box(&old), black_box(&new)));
}

#[divan::bench]
fn status_update_that_all_releases_deny(bencher: Bencher) {
    let checker = JobChecker::default();
    let (old, mut new) = (job(8), job(7));
    if let Some(status) = &mut new.status {
        status.failed = Some(1);
        status.ready = Some(9);
    }
    bencher.bench(|| black_box(&checker).status_update(black_box(&old), black_box(&new)));
}

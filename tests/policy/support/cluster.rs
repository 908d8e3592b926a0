//! A cluster that is played: for the library as it is, for the module behind the engine's host.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use managed_by::{Cluster, FoundJob, Unanswered};
use managed_by_testing::Host;
use serde_json::Value;
use xtask::judge::documented_job;

use super::root;

/// How the cluster behaves when it is asked for a Job.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Played {
    /// It has the Jobs of MultiKueue's hub, as recorded, and the Job of the documentation's examples.
    Recorded,
    /// The host gives an error.
    Failing(&'static str),
    /// The host gives this for a Job.
    Giving(&'static str),
}

/// The Jobs by namespace and name, as they were last seen.
static JOBS: LazyLock<BTreeMap<(String, String), Value>> = LazyLock::new(|| {
    let mut jobs = BTreeMap::new();
    let mut add = |job: Value| {
        let text = |pointer: &str| {
            job.pointer(pointer)
                .and_then(Value::as_str)
                .unwrap()
                .to_owned()
        };
        jobs.insert((text("/metadata/namespace"), text("/metadata/name")), job);
    };
    for stream in ["jobs-1.36", "multikueue-0.14-hub"] {
        let text = std::fs::read_to_string(root(format!("conformance/traces/{stream}.ndjson")));
        for line in text.unwrap().lines() {
            let mut event: Value = serde_json::from_str(line).unwrap();
            if event["object"]["kind"] == "Job" {
                add(event["object"].take());
            }
        }
    }
    add(documented_job());
    jobs
});

/// A Job that the cluster has.
pub(crate) fn job(namespace: &str, name: &str) -> &'static Value {
    &JOBS[&(namespace.to_owned(), name.to_owned())]
}

impl Played {
    /// What the host says, in the words of `policy-evaluator` in PolicyServer 1.36.0-beta.1.
    fn get(self, namespace: &str, name: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Failing(error) => return Err(error.to_owned()),
            Self::Giving(bytes) => return Ok(bytes.as_bytes().to_vec()),
            Self::Recorded => {}
        }
        let job = JOBS.get(&(namespace.to_owned(), name.to_owned()));
        job.map(|job| job.to_string().into_bytes()).ok_or_else(|| {
            format!("Cannot find batch/v1/Job named '{name}' inside of namespace 'Some(\"{namespace}\")'")
        })
    }

    /// The host of the engine. It answers nothing but the one question that the second manifest allows.
    pub(crate) fn host(self) -> Arc<Host> {
        Arc::new(move |binding, namespace, operation, payload| {
            assert_eq!(
                (binding, namespace, operation),
                ("kubewarden", "kubernetes", "get_resource")
            );
            let question: Value = serde_json::from_slice(payload).unwrap();
            let asked = |key: &str| question[key].as_str().unwrap().to_owned();
            assert_eq!(
                (asked("api_version"), asked("kind")),
                ("batch/v1".to_owned(), "Job".to_owned())
            );
            self.get(&asked("namespace"), &asked("name"))
        })
    }
}

impl Cluster for Played {
    fn job(&self, namespace: &str, name: &str) -> Result<FoundJob, Unanswered> {
        match self.get(namespace, name) {
            Ok(bytes) => Ok(FoundJob::Found(bytes)),
            Err(text) if text.starts_with("Cannot find") => Ok(FoundJob::NotFound),
            // As the guest's SDK words it.
            Err(text) => Err(Unanswered::new(format!("Host error: {text}"))),
        }
    }
}

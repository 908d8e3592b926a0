//! A fake cluster with recorded Jobs, which the library uses directly and the module through the engine's host.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use managed_by::{Cluster, Lookup, LookupError};
use managed_by_testing::Host;
use managed_by_testing::library::{ValidationResponse, documented_job, validate_in};
use serde_json::Value;

use super::root;

/// Prefix of the errors of `policy-evaluator`.
const CALLBACK_FAILED: &str = "Callback evaluation failure: ";

/// A cluster, by its behavior when a Job is looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FakeCluster {
    /// Contains the Jobs of the recordings `jobs-1.36` and `multikueue-0.14-hub`, and the Job of the documentation's examples.
    Recorded,
    /// Like `Recorded`, but the cache has Jobs of the same names that were deleted.
    Recreated,
    /// Fails with the given error, which means that the API server can't be reached.
    Unreachable(&'static str),
    /// Fails with the given error, which means something else.
    Failing(&'static str),
    /// Returns the given text as the Job.
    Returning(&'static str),
}

/// Last recorded state of each Job, by namespace and name.
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
        let text = std::fs::read_to_string(root(format!("parity/traces/{stream}.ndjson")));
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

/// Returns a Job of [`FakeCluster::Recorded`].
pub(crate) fn job(namespace: &str, name: &str) -> &'static Value {
    &JOBS[&(namespace.to_owned(), name.to_owned())]
}

/// Returns the library's response.
pub(crate) fn review(request: &Value, settings: &Value) -> ValidationResponse {
    review_with(request, &settings.to_string())
}

/// Returns the library's response with settings in a given order.
pub(crate) fn review_with(request: &Value, settings: &str) -> ValidationResponse {
    validate_in(&FakeCluster::Recorded, &request.to_string(), settings)
}

impl FakeCluster {
    /// Looks up a Job, with the error text of `policy-evaluator` in PolicyServer 1.36.0-beta.1.
    fn get(self, namespace: &str, name: &str, may_be_cached: bool) -> Result<Vec<u8>, String> {
        match self {
            Self::Unreachable(error) | Self::Failing(error) => return Err(error.to_owned()),
            Self::Returning(bytes) => return Ok(bytes.as_bytes().to_vec()),
            Self::Recorded | Self::Recreated => {}
        }
        let job = JOBS.get(&(namespace.to_owned(), name.to_owned()));
        let job = job.cloned().map(|mut job| {
            if may_be_cached && matches!(self, Self::Recreated) {
                job["metadata"]["uid"] = "deleted".into();
            }
            job.to_string().into_bytes()
        });
        job.ok_or_else(|| {
            format!("{CALLBACK_FAILED}Cannot find batch/v1/Job named '{name}' inside of namespace 'Some(\"{namespace}\")'")
        })
    }

    /// Returns the host for the engine. It panics on any host call but the lookup of a Job.
    pub(crate) fn host(self) -> Arc<Host> {
        Arc::new(move |binding, namespace, operation, payload| {
            assert_eq!(
                (binding, namespace, operation),
                ("kubewarden", "kubernetes", "get_resource")
            );
            let request: Value = serde_json::from_slice(payload).unwrap();
            let text = |key: &str| request[key].as_str().unwrap().to_owned();
            assert_eq!(
                (text("api_version"), text("kind")),
                ("batch/v1".to_owned(), "Job".to_owned())
            );
            assert_eq!(
                request["field_masks"],
                serde_json::json!(["spec.managedBy"])
            );
            let may_be_cached = request["disable_cache"] == false;
            self.get(&text("namespace"), &text("name"), may_be_cached)
        })
    }
}

impl Cluster for FakeCluster {
    fn job(&self, namespace: &str, name: &str, may_be_cached: bool) -> Result<Lookup, LookupError> {
        match self.get(namespace, name, may_be_cached) {
            Ok(bytes) => Ok(Lookup::Found(bytes)),
            Err(_) if matches!(self, Self::Recorded | Self::Recreated) => Ok(Lookup::NotFound),
            Err(text) => {
                // `wapc_guest` adds this prefix.
                let text = format!("Host error: {text}");
                Err(match self {
                    Self::Unreachable(_) => LookupError::Unreachable(text),
                    _ => LookupError::Unreadable(text),
                })
            }
        }
    }
}

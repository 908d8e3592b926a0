//! Cluster lookups of a review. The library has no client: callers implement [`Cluster`].

use std::fmt;

/// Access to a cluster.
pub trait Cluster {
    /// Returns a Job as JSON.
    ///
    /// # Errors
    /// Fails if the lookup fails. A Job that doesn't exist is not an error.
    fn job(&self, namespace: &str, name: &str) -> Result<JobLookup, LookupError>;
}

/// Result of looking up a Job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobLookup {
    /// The Job exists: the object as JSON.
    Found(Vec<u8>),
    /// The Job doesn't exist.
    NotFound,
}

/// Error of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// The API server can't be reached: the reason. The setting `on_lookup_failure` decides about the pod.
    Unreachable(String),
    /// The Job can't be read, for example because it is nested too deeply: the reason. The pod is denied, because the author of
    /// the Job could cause this.
    Unreadable(String),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unreachable(reason) | Self::Unreadable(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for LookupError {}

/// Implementation of [`Cluster`] without a cluster: every lookup fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCluster;

impl Cluster for NoCluster {
    fn job(&self, _: &str, _: &str) -> Result<JobLookup, LookupError> {
        Err(LookupError::Unreachable(
            "no access to a cluster".to_owned(),
        ))
    }
}

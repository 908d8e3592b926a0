//! Cluster lookups of a review. The library has no client: callers implement [`Cluster`].

use std::fmt;

/// Access to a cluster.
pub trait Cluster {
    /// Returns a Job as JSON. If `may_be_cached` is true, the result may be a few seconds old.
    ///
    /// # Errors
    /// Fails if the lookup fails. A Job that doesn't exist is not an error.
    fn job(&self, namespace: &str, name: &str, may_be_cached: bool) -> Result<Lookup, LookupError>;
}

/// Result of looking up an object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookup {
    /// The object exists: its JSON.
    Found(Vec<u8>),
    /// The object doesn't exist.
    NotFound,
}

/// Error of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// The API server can't be reached: the reason. The setting `on_lookup_failure` decides about the pod.
    Unreachable(String),
    /// The object can't be read, for example because it is nested too deeply: the reason. The pod of such a Job is denied, because the
    /// author of the Job could cause this.
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
    fn job(&self, _: &str, _: &str, _: bool) -> Result<Lookup, LookupError> {
        Err(LookupError::Unreachable(
            "no access to a cluster".to_owned(),
        ))
    }
}

/// Access to a cluster with Kueue.
#[cfg(feature = "lookups")]
pub trait QueueCluster: Cluster {
    /// Returns an object of Kueue as JSON. The rule reads `spec` and `status.conditions`. Only a `LocalQueue` has a namespace.
    ///
    /// # Errors
    /// Fails if the lookup fails. An object that doesn't exist is not an error.
    fn queue_object(
        &self,
        kind: QueueKind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Lookup, LookupError>;
}

/// Kinds between a workload and the worker clusters of `MultiKueue`.
#[cfg(feature = "lookups")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueKind {
    /// `LocalQueue`, which the workload's label names.
    LocalQueue,
    /// `ClusterQueue` of a `LocalQueue`.
    ClusterQueue,
    /// `AdmissionCheck` of a `ClusterQueue`.
    AdmissionCheck,
}

#[cfg(feature = "lookups")]
impl QueueKind {
    /// Version in which the objects are looked up. Kueue serves it since 0.15, and warns clients of v1beta1 since then.
    pub const API_VERSION: &str = "kueue.x-k8s.io/v1beta2";

    /// All kinds, sorted by name as in a policy's metadata.
    pub const ALL: &[Self] = &[Self::AdmissionCheck, Self::ClusterQueue, Self::LocalQueue];

    /// Returns the name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LocalQueue => "LocalQueue",
            Self::ClusterQueue => "ClusterQueue",
            Self::AdmissionCheck => "AdmissionCheck",
        }
    }
}

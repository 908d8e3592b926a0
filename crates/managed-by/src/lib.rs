//! Validates `managedBy` and the status of Kubernetes workloads the way kube-apiserver does, and adds checks that kube-apiserver lacks.
//!
//! [`AdmissionRequest::from_json`] decodes a request, [`Settings::from_json`] parses the admin's settings, and [`review`] returns a
//! [`Verdict`]. [`rules`] and [`kinds`] list the rules and kinds. The library has no I/O, no clock and no global state. Front ends,
//! such as the Kubewarden policy, only convert bytes to these types and back.
//!
//! ```
//! use managed_by::{AdmissionRequest, Settings, review};
//!
//! let request = AdmissionRequest::from_json(
//!     br#"{"operation": "UPDATE", "kind": {"group": "batch", "version": "v1", "kind": "Job"},
//!          "oldObject": {"metadata": {"name": "pi"}, "spec": {"managedBy": "a.io/x"}},
//!          "object": {"metadata": {"name": "pi"}, "spec": {"managedBy": "b.io/y"}}}"#,
//! )?;
//! let settings = Settings::default();
//! let verdict = review(&request, &settings);
//! assert_eq!(
//!     verdict.decision.message(),
//!     Some(r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "b.io/y": field is immutable"#),
//! );
//! # Ok::<(), managed_by::DecodeError>(())
//! ```
//!
//! The modules form layers, which `docs/contributing/architecture.md` lists.

#![warn(missing_docs)]

mod catalog;
mod cluster;
mod decode;
mod description;
mod evaluation;
mod finding;
mod kind;
mod object;
mod release;
mod request;
mod review;
mod rule;
mod settings;
mod sorted;
mod suggest;
#[cfg(feature = "k8s-openapi")]
mod typed;
mod unchecked;
mod upstream;
mod verdict;

pub use catalog::{rule, rules};
pub use cluster::{Cluster, Lookup, LookupError, NoCluster};
#[cfg(feature = "lookups")]
pub use cluster::{QueueCluster, QueueKind};
pub use decode::DecodeError;
pub use description::{Documentation, Enforcement, Example, Rule, RuleCategory, RuleSource};
#[cfg(feature = "docs")]
pub use description::{FILES_URL, with_absolute_links};
pub use evaluation::{Evaluation, Finding, ReleaseDecisions, ReleaseMessage, ReleaseVerdict};
pub use finding::ErrorType;
#[cfg(feature = "docs")]
pub use kind::TransitionDocs;
pub use kind::{
    EXTERNAL_CONTROLLERS, FieldLocation, Kind, KindDocs, MULTIKUEUE, QUEUE_NAME, REQUIRED_LABELS,
    RESERVED_VALUES, Reconciler, ValueConstraint, kinds,
};
#[cfg(feature = "manifests")]
pub use object::Outcome;
pub use release::{ParseReleaseError, Release, ReleaseSet};
pub use request::{AdmissionRequest, AdmissionReview, Change, DecodedObject, UserInfo};
#[cfg(feature = "manifests")]
pub use review::WorkloadState;
pub use review::{ResolvedRequest, evaluate, resolve, review};
#[cfg(feature = "lookups")]
pub use rule::delegation::unusable_queue::{queue_problem, queue_rule};
pub use rule::managed_by::reserved_domain::likely_typo;
#[cfg(feature = "docs")]
pub use settings::reference::{KEYS as SETTINGS_REFERENCE, SettingsKey};
pub use settings::{
    Delegation, OnLookupFailure, OwnedSettings, ReservedValuePolicy, Role, Settings, SettingsError,
    SettingsErrors, keys as settings_keys, kinds as workload_kinds,
};
pub use suggest::{did_you_mean, nearest, nearest_name};
#[cfg(feature = "k8s-openapi")]
pub use typed::{JobChecker, JobFindings};
pub use unchecked::{Unchecked, UncheckedReason};
pub use verdict::{Decision, Verdict};

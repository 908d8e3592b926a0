//! Validates the `managedBy` field of Kubernetes workloads with kube-apiserver's verdicts, and adds what it does not check.
//!
//! [`AdmissionRequest::from_json`] reads what is asked, [`Settings::from_json`] what the admin chose, and [`review`] answers
//! with a [`Verdict`]. [`rules`] and [`kinds`] list what the library knows. It has no I/O, no clock and no global state: the
//! front ends (the Kubewarden policy first) translate bytes to these types and back, and decide nothing.
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
//! # Ok::<(), managed_by::Malformed>(())
//! ```
//!
//! Inside, data flows one way, and each module uses only those before it:
//!
//! 1. `upstream`: what Kubernetes' Go code does with text. `release`, `decode`: how bytes are read. `near`, `sorted`: texts.
//! 2. `kind`: what differs between kinds, as data. `object`, `request`: the borrowed views of what is asked.
//! 3. `description`: what people know a rule by. `finding`: what a rule found, as data.
//! 4. `settings`: what the admin chose. `cluster`: what a review may ask.
//! 5. `rule`: the checks. `catalogue`: all of them, in order. `verdict`: findings to an answer. `judgement`: the answers of
//!    several releases as one. `review`: the way through.
//! 6. `typed`: the same rules on the types of `k8s-openapi`, with the feature `k8s-openapi`.

mod catalogue;
mod cluster;
mod decode;
mod description;
mod finding;
mod judgement;
mod kind;
mod near;
mod object;
mod release;
mod request;
mod review;
mod rule;
mod settings;
mod sorted;
#[cfg(feature = "k8s-openapi")]
mod typed;
mod upstream;
mod verdict;

pub use catalogue::{rule, rules};
pub use cluster::{Cluster, FoundJob, Offline, Unanswered};
pub use decode::Malformed;
pub use description::{Anchor, Documentation, Enforcement, Example, Rule};
pub use finding::{ErrorType, FieldError, Finding};
pub use judgement::{JudgedFinding, Judgement, Opinion, Words};
#[cfg(feature = "docs")]
pub use kind::TransitionDocs;
pub use kind::{Form, Holder, Kind, KindDocs, Mode, RESERVED, kinds};
pub use near::{nearest, nearest_name};
pub use release::{Release, ReleaseSet, UnknownRelease};
pub use request::{AdmissionRequest, AdmissionReview, Change, ReadObject, UserInfo};
#[cfg(feature = "docs")]
pub use review::exercised;
pub use review::{judge, judge_in, review, review_in, with_kind};
#[cfg(feature = "docs")]
pub use settings::reference::{KEYS as SETTINGS_REFERENCE, Key};
pub use settings::{
    Delegation, OnLookupFailure, Problem, Problems, ReservedValue, Role, Settings,
    keys as settings_keys, kinds as workload_kinds,
};
#[cfg(feature = "k8s-openapi")]
pub use typed::{JobChecker, JobFindings};
pub use verdict::{Decision, Verdict};

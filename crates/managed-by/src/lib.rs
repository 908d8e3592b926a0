//! Validates the `managedBy` field of Kubernetes workloads with kube-apiserver's verdicts, and adds what it does not check.
//!
//! Data flows one way: request bytes → borrowed view ([`request`]) → [`rule`]s in the order of the [`catalogue`] →
//! [`finding`]s → [`verdict`]. What differs between kinds stands in [`kind`], what an admin chooses in [`settings`].
//! The library has no I/O, no clock and no global state; the Kubewarden guest, the CLI and the npm package are thin
//! translators around [`review`].
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
//!     verdict.message.as_deref(),
//!     Some(r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "b.io/y": field is immutable"#),
//! );
//! # Ok::<(), managed_by::Malformed>(())
//! ```

pub mod catalogue;
pub mod cluster;
pub mod finding;
mod go;
pub mod json;
pub mod kind;
mod nearest;
pub mod release;
pub mod request;
pub mod rule;
pub mod settings;
pub mod time;
pub mod verdict;

pub use json::Malformed;
pub use release::Release;
pub use request::AdmissionRequest;
pub use settings::Settings;
pub use verdict::{Verdict, review, review_in};

//! An example kube-rs controller for Jobs that are delegated to `acme.io/runner`.
//!
//! [`status::next`] computes the status without I/O, so that the tests can check it against every release of kube-apiserver: see
//! `tests/releases.rs`.

pub mod controller;
pub mod status;

/// The value of `spec.managedBy` for this controller.
pub const CONTROLLER_NAME: &str = "acme.io/runner";

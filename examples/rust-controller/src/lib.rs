//! A controller of Jobs that are delegated to `acme.io/runner`, in the style of kube-rs.
//!
//! What it writes is made by one function without I/O, [`status::next`]. So the tests can ask every release of kube-apiserver what it
//! would say to it: see `tests/releases.rs`.

pub mod controller;
pub mod status;

/// The name in `spec.managedBy`.
pub const NAME: &str = "acme.io/runner";

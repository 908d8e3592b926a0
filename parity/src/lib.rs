//! Parity with kube-apiserver: cases with the results of its own code (vectors), recordings of controllers, and generated cases.
//!
//! `oracle/` contains programs that run kube-apiserver's code. `make update-parity` writes the vectors, which all tests use.

#![expect(clippy::missing_errors_doc, reason = "the error says what failed")]

pub mod cases;
pub mod change;
pub mod compare;
pub mod default_release;
pub mod fields;
pub mod generate;
mod job;
pub mod oracle;
pub mod random;
pub mod trace;

pub mod vector;

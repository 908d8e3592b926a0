//! Behavior of Kubernetes' Go code that messages and validation depend on: formatting, times and names.

pub(crate) mod go;
pub(crate) mod names;
pub(crate) mod time;

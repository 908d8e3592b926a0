//! What Kubernetes' Go code does with text: printing, times, the names it accepts.

pub(crate) mod go;
pub(crate) mod names;
pub(crate) mod time;

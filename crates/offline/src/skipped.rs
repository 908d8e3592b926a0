//! Records of a history that cannot be evaluated.

use std::fmt;

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRecord {
    pub reason: SkipReason,
    pub text: String,
}

/// Reason why a record could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// Not a JSON object, such as a truncated line or an array.
    NotJson,
    /// JSON of an unexpected kind.
    UnknownDocument,
    /// The watch ended with an error.
    WatchError,
    /// The audit event does not contain the object.
    NoObject,
    /// The state is older than its predecessor.
    OutOfOrder,
    /// The first record of the object is an update, so its previous state is missing.
    NoPreviousState,
    /// A field has the wrong type.
    Malformed,
}

/// Formats as in JSON: `not-json`.
impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl SkippedRecord {
    pub fn new(reason: SkipReason, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { reason, text }
    }
}

//! Records of a history that cannot be evaluated.

/// A record that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRecord {
    /// The reason.
    pub reason: SkipReason,
    /// The reason with its details.
    pub text: String,
}

/// Reason why a record could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Not JSON, such as a truncated line.
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

impl SkipReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::NotJson,
        Self::UnknownDocument,
        Self::WatchError,
        Self::NoObject,
        Self::OutOfOrder,
        Self::NoPreviousState,
        Self::Malformed,
    ];

    /// Returns the identifier.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not-json",
            Self::UnknownDocument => "unknown-document",
            Self::WatchError => "watch-error",
            Self::NoObject => "no-object",
            Self::OutOfOrder => "out-of-order",
            Self::NoPreviousState => "no-previous-state",
            Self::Malformed => "malformed",
        }
    }
}

impl SkippedRecord {
    /// Creates a value from a reason and its details.
    pub fn new(reason: SkipReason, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { reason, text }
    }
}

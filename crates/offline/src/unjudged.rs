//! Parts of a recording that cannot be evaluated, with reasons.

/// A part that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// The reason.
    pub why: Why,
    /// The reason as text.
    pub text: String,
}

/// The reason why a part could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Not JSON, such as a truncated line.
    NotJson,
    /// JSON of an unexpected kind.
    Unknown,
    /// The watch ended with an error.
    WatchError,
    /// The audit event does not contain the object.
    NoObject,
    /// The state is older than its predecessor.
    OutOfOrder,
    /// The first record of the object is an update, so its previous state is missing.
    SeenFirst,
    /// A field has the wrong type.
    Malformed,
}

impl Why {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::NotJson,
        Self::Unknown,
        Self::WatchError,
        Self::NoObject,
        Self::OutOfOrder,
        Self::SeenFirst,
        Self::Malformed,
    ];

    /// Returns the plural description for summaries.
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::NotJson => "not JSON",
            Self::Unknown => "documents of another kind",
            Self::WatchError => "watches that ended with an error",
            Self::NoObject => "audit events without the object",
            Self::OutOfOrder => "out of order",
            Self::SeenFirst => "seen first in the middle of their lives",
            Self::Malformed => "fields of the wrong type",
        }
    }

    /// Returns the identifier for machine formats.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not-json",
            Self::Unknown => "unknown-document",
            Self::WatchError => "watch-error",
            Self::NoObject => "no-object",
            Self::OutOfOrder => "out-of-order",
            Self::SeenFirst => "seen-first",
            Self::Malformed => "malformed",
        }
    }
}

impl Unjudged {
    /// Creates a value from a reason and its text.
    pub fn new(why: Why, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { why, text }
    }
}

//! What a recording holds that cannot be judged, and why.

/// What could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// Why, as a word.
    pub why: Why,
    /// Why, as a sentence.
    pub text: String,
}

/// Why something could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is not JSON, such as a line that was cut.
    NotJson,
    /// It is JSON of another kind than expected.
    Unknown,
    /// The watch ended with an error.
    WatchError,
    /// The audit event does not hold the object.
    NoObject,
    /// The state is older than the one before it.
    OutOfOrder,
    /// The object was seen first in the middle of its life, so that nobody knows what was updated.
    SeenFirst,
    /// A field is of the wrong type.
    Malformed,
}

impl Why {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NotJson,
        Self::Unknown,
        Self::WatchError,
        Self::NoObject,
        Self::OutOfOrder,
        Self::SeenFirst,
        Self::Malformed,
    ];

    /// Why, in a text about several.
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

    /// The word for it in machine formats.
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
    /// What could not be judged, and why.
    pub fn new(why: Why, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { why, text }
    }
}

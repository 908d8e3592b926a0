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
    /// A text that is not JSON, or is cut.
    pub(crate) fn not_json(text: impl Into<String>) -> Self {
        let (why, text) = (Why::NotJson, text.into());
        Self { why, text }
    }

    /// A document that is neither an object, a watch event nor an audit event, or not the one that is expected.
    pub(crate) fn unknown(text: &str) -> Self {
        let (why, text) = (Why::Unknown, text.to_owned());
        Self { why, text }
    }

    /// The end of a watch, with what the API server said, cut short.
    pub(crate) fn watch_error(message: &str) -> Self {
        let message: String = message.chars().take(200).collect();
        let text = format!("the watch ended with an error: {message}");
        let why = Why::WatchError;
        Self { why, text }
    }

    /// An audit event of a level that does not hold the object.
    pub(crate) fn no_object(level: &str) -> Self {
        let level: String = level.chars().take(40).collect();
        let text = format!("an audit event of level {level} holds no object, RequestResponse does");
        let why = Why::NoObject;
        Self { why, text }
    }
}

//! The types of JSON.

/// The type of the JSON value that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// `"..."`
    String,
    /// `1`, `-0.5e3`
    Number,
    /// `true`, `false`
    Bool,
    /// `null`
    Null,
}

impl Type {
    /// The type with its article, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Null => "null",
        }
    }
}

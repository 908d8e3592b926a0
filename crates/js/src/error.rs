//! The error type of all functions, which the package throws as a `ManagedByError`.

use serde::Serialize;

use crate::position::Position;

/// Error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ErrorCode {
    /// The settings are invalid.
    #[serde(rename = "ERR_INVALID_SETTINGS")]
    InvalidSettings,
    /// An argument is invalid.
    #[serde(rename = "ERR_INVALID_ARGUMENT")]
    InvalidArgument,
}

/// The error type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Error {
    /// Error code.
    pub code: ErrorCode,
    /// Path in the arguments: `settings.rules[managed-by/format]`.
    pub path: String,
    /// Complete message.
    pub message: String,
    /// Problems of invalid settings, at most 50. Empty for other errors.
    pub problems: Vec<SettingsProblem>,
}

/// A problem in settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "Problem"))]
pub struct SettingsProblem {
    /// Path: `rules[managed-by/format]`, or `settings` for an error in the settings as a whole.
    pub path: String,
    /// Message with path, actual and allowed values, and the suggestion.
    pub message: String,
    /// Suggested key or string to write at the position. `message` contains it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub suggestion: Option<String>,
    /// Position in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub position: Option<Position>,
}

impl Error {
    /// Creates the error for an invalid argument.
    pub(crate) fn invalid_argument(path: &str, message: &str) -> Self {
        Self {
            code: ErrorCode::InvalidArgument,
            path: path.to_owned(),
            message: format!("{path}: {message}"),
            problems: Vec::new(),
        }
    }

    /// Creates the error for invalid settings.
    pub(crate) fn invalid_settings(message: String, problems: Vec<SettingsProblem>) -> Self {
        let path = problems.first().map_or("", |problem| &*problem.path);
        Self {
            code: ErrorCode::InvalidSettings,
            path: match path {
                "" | "settings" => "settings".to_owned(),
                path if path.starts_with('[') => format!("settings{path}"),
                path => format!("settings.{path}"),
            },
            message,
            problems,
        }
    }
}

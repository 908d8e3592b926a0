//! Why there is no answer, as the package throws it.

use serde::Serialize;

use crate::settings::SettingsProblem;

/// The word by which code tells errors apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Code {
    /// The settings are bad.
    #[serde(rename = "ERR_BAD_SETTINGS")]
    BadSettings,
    /// An argument is not of its form.
    #[serde(rename = "ERR_ARGUMENT")]
    Argument,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Error {
    /// The word for it.
    pub code: Code,
    /// Where, in the arguments: `settings.rules["managed-by/format"]`.
    pub path: String,
    /// The whole story.
    pub message: String,
    /// Everything that is wrong with settings.
    pub problems: Vec<SettingsProblem>,
}

impl Error {
    /// An argument that is not of its form.
    pub(crate) fn argument(path: &str, message: &str) -> Self {
        Self {
            code: Code::Argument,
            path: path.to_owned(),
            message: format!("{path}: {message}"),
            problems: Vec::new(),
        }
    }

    /// Settings with something wrong in them.
    pub(crate) fn settings(message: String, problems: Vec<SettingsProblem>) -> Self {
        let path = problems.first().map_or("", |problem| &*problem.path);
        Self {
            code: Code::BadSettings,
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

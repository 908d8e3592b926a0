//! Why there is no answer, as the package throws it.

use managed_by::Problems;
use serde::Serialize;

use crate::verdict::Problem;

/// The word by which code tells errors apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub enum Code {
    /// The settings are bad. `path` is the place of the first problem, `problems` lists all of them.
    #[serde(rename = "ERR_BAD_SETTINGS")]
    BadSettings,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The word for it.
    pub code: Code,
    /// Where, in the argument: `rules["managed-by/format"]`.
    pub path: String,
    /// The whole story.
    pub message: String,
    /// Everything that is wrong with settings.
    pub problems: Vec<Problem>,
}

impl From<Problems> for Trouble {
    fn from(problems: Problems) -> Self {
        let path = problems.as_slice().first().map(|p| p.path().to_owned());
        Self {
            code: Code::BadSettings,
            path: path.unwrap_or_default(),
            message: problems.to_string(),
            problems: problems.as_slice().iter().map(Problem::from).collect(),
        }
    }
}

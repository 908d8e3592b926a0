//! Implements `validateSettings`, and reads settings from JSON, YAML or a policy's manifest for all functions.

use managed_by::{Settings, SettingsErrors};
use managed_by_offline::SettingsText;
use serde::Serialize;

use crate::error::{Error, SettingsProblem};
use crate::position::{Position, PositionIndex};

/// Result of validating settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct SettingsVerdict {
    /// True if the policy accepts the settings.
    pub valid: bool,
    /// Message that PolicyServer would log for invalid settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
    /// Problems in the order of the settings, at most 50.
    pub problems: Vec<SettingsProblem>,
}

impl SettingsVerdict {
    pub(crate) fn new(text: &str) -> Self {
        match to_json(text) {
            Ok(_) => Self {
                valid: true,
                message: None,
                problems: Vec::new(),
            },
            Err(malformed) => Self {
                valid: false,
                message: Some(malformed.message),
                problems: malformed.problems,
            },
        }
    }
}

/// Calls a function with the settings in a text.
///
/// # Errors
/// If the text is neither YAML nor JSON, contains several policies, or the settings are invalid.
pub(crate) fn with_settings<T>(
    text: &str,
    evaluate: impl FnOnce(&Settings<'_>) -> T,
) -> Result<T, Error> {
    let json;
    // Most callers pass JSON, which is parsed only once here.
    let settings = if let Ok(settings) = Settings::from_json(text.as_bytes()) {
        settings
    } else {
        json = text_to_json(text)?;
        Settings::from_json(json.as_bytes()).unwrap_or_default()
    };
    Ok(evaluate(&settings))
}

/// Returns the valid settings in a text as JSON.
///
/// # Errors
/// If [`with_settings`] would fail.
pub(crate) fn to_json(text: &str) -> Result<String, Error> {
    if Settings::from_json(text.as_bytes()).is_ok() {
        return Ok(text.to_owned());
    }
    text_to_json(text)
}

/// Implements [`to_json`] for YAML, manifests and invalid JSON.
fn text_to_json(text: &str) -> Result<String, Error> {
    let Some(found) = find(text)? else {
        return Ok("{}".to_owned());
    };
    match found.read() {
        Ok(_) => Ok(found.json().to_owned()),
        Err(problems) => Err(settings_error(text, &found, &problems)),
    }
}

/// Returns the settings in a text, if any.
fn find(text: &str) -> Result<Option<SettingsText<'_>>, Error> {
    let (mut all, _) = SettingsText::find(text).map_err(|unreadable| {
        let position = PositionIndex::new(text).to_line_end(unreadable.line, unreadable.column);
        whole_text_error(&unreadable.to_string(), Some(position))
    })?;
    if all.len() > 1 {
        let count = all.len();
        let message = format!("expected the settings of one policy, got {count} policies");
        return Err(whole_text_error(&message, None));
    }
    Ok(all.pop())
}

fn whole_text_error(message: &str, position: Option<Position>) -> Error {
    let message = format!("invalid settings: {message}");
    let problem = SettingsProblem {
        path: "settings".to_owned(),
        message: message.clone(),
        suggestion: None,
        position,
    };
    Error::invalid_settings(message, vec![problem])
}

fn settings_error(text: &str, found: &SettingsText<'_>, problems: &SettingsErrors) -> Error {
    let positions = PositionIndex::new(text);
    let problem = |problem: &managed_by::SettingsError| {
        let path = found.document_path(problem.path());
        let located = if problem.is_key() {
            found.document.locate_key(&path)
        } else {
            found.document.locate(&path)
        };
        SettingsProblem {
            path: problem.path().to_owned(),
            message: problem.to_string(),
            suggestion: problem.suggestion().map(str::to_owned),
            position: Some(positions.located(&located)),
        }
    };
    Error::invalid_settings(
        problems.to_string(),
        problems.as_slice().iter().map(problem).collect(),
    )
}

//! Settings as people have them: JSON, YAML, or a policy's manifest with them inside.

use managed_by::{Problems, Settings};
use managed_by_requests::SettingsText;
use serde::Serialize;

use crate::trouble::Trouble;
use crate::verdict::Place;

/// What there is to say about settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct SettingsVerdict {
    /// Whether a PolicyServer would start with them.
    pub valid: bool,
    /// What it would write to its log otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
    /// Everything that is wrong, in the order of the settings; no more than 50.
    pub problems: Vec<Problem>,
}

/// One thing wrong with settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
pub struct Problem {
    /// Where it is: `rules["managed-by/format"]`; `settings` if it is with the whole.
    pub path: String,
    /// The path, what is there, what is allowed, and the nearest word that would do.
    pub message: String,
    /// Where that stands in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub place: Option<Place>,
}

impl SettingsVerdict {
    pub(crate) fn of(text: &str) -> Self {
        match with(text, |_| ()) {
            Ok(()) => Self {
                valid: true,
                message: None,
                problems: Vec::new(),
            },
            Err(trouble) => Self {
                valid: false,
                message: Some(trouble.message),
                problems: trouble.problems,
            },
        }
    }
}

/// Does something with the settings in a text.
///
/// # Errors
/// If the text is neither YAML nor JSON, holds several settings, or bad ones.
pub(crate) fn with<T>(text: &str, act: impl FnOnce(&Settings<'_>) -> T) -> Result<T, Trouble> {
    // JSON, as most callers have them, is read once.
    if let Ok(settings) = Settings::from_json(text.as_bytes()) {
        return Ok(act(&settings));
    }
    let found = found(text)?;
    let Some(found) = found else {
        return Ok(act(&Settings::default()));
    };
    found
        .read()
        .map(|settings| act(&settings))
        .map_err(|problems| refused(text, &found, &problems))
}

/// The settings in a text as JSON, once they are known to be good.
///
/// # Errors
/// As [`with`].
pub(crate) fn json(text: &str) -> Result<String, Trouble> {
    with(text, |_| ())?;
    if Settings::from_json(text.as_bytes()).is_ok() {
        return Ok(text.to_owned());
    }
    Ok(found(text)?.map_or_else(|| "{}".to_owned(), |found| found.json().to_owned()))
}

/// The settings in a text, if there are any.
fn found(text: &str) -> Result<Option<SettingsText<'_>>, Trouble> {
    let mut all = SettingsText::all(text).map_err(|unreadable| {
        let place = Place::at(text, unreadable.line, unreadable.column);
        whole(&unreadable.to_string(), Some(place))
    })?;
    if all.len() > 1 {
        let count = all.len();
        let message = format!("expected settings once, got them {count} times");
        return Err(whole(&message, None));
    }
    Ok(all.pop())
}

fn whole(message: &str, place: Option<Place>) -> Trouble {
    let message = format!("invalid settings: {message}");
    let problem = Problem {
        path: "settings".to_owned(),
        message: message.clone(),
        place,
    };
    Trouble::settings(message, vec![problem])
}

fn refused(text: &str, found: &SettingsText<'_>, problems: &Problems) -> Trouble {
    let problem = |problem: &managed_by::Problem| {
        // A key that is unknown, or a value that is missing, is told by the key.
        let located = found.document.locate(&found.path_of(problem.path()));
        Problem {
            path: problem.path().to_owned(),
            message: problem.to_string(),
            place: Some(Place::of(text, &located)),
        }
    };
    Trouble::settings(
        problems.to_string(),
        problems.as_slice().iter().map(problem).collect(),
    )
}

//! Settings that own their JSON.

use super::{Settings, SettingsErrors};

/// Valid settings with their JSON, for programs that read settings at run time and keep them, such as a client layer in a test.
///
/// ```
/// use managed_by::OwnedSettings;
///
/// let file = String::from(r#"{"role": "worker"}"#);
/// let settings = OwnedSettings::from_json(file)?;
/// assert_eq!(settings.get().role(), managed_by::Role::Worker);
/// # Ok::<(), managed_by::SettingsErrors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedSettings(Box<[u8]>);

impl OwnedSettings {
    /// Parses settings from JSON.
    ///
    /// # Errors
    /// Fails like [`Settings::from_json`].
    pub fn from_json(json: impl Into<Vec<u8>>) -> Result<Self, SettingsErrors> {
        let json = json.into().into_boxed_slice();
        Settings::from_json(&json)?;
        Ok(Self(json))
    }

    /// Returns the settings. They borrow from the JSON, so this parses it again.
    pub fn get(&self) -> Settings<'_> {
        // Parsing the same JSON again has the same result.
        Settings::from_json(&self.0).unwrap_or_default()
    }
}

//! Serializes verdicts as Kubewarden's `ValidationResponse`, and the problems of settings as its `SettingsValidationResponse`.

use managed_by::{Decision, Settings, SettingsErrors, Verdict};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

/// Response of `validate`. Empty members are omitted.
pub(crate) struct ValidationResponse(pub(crate) Verdict);

impl Serialize for ValidationResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let verdict = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("accepted", &verdict.decision.is_allowed())?;
        if let Decision::Denied { code, message } = &verdict.decision {
            map.serialize_entry("message", message)?;
            map.serialize_entry("code", code)?;
        }
        if !verdict.audit_annotations.is_empty() {
            let annotations = Annotations(&verdict.audit_annotations);
            map.serialize_entry("audit_annotations", &annotations)?;
        }
        if !verdict.warnings.is_empty() {
            map.serialize_entry("warnings", &verdict.warnings)?;
        }
        map.end()
    }
}

struct Annotations<'a>(&'a [(&'static str, String)]);

impl Serialize for Annotations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Name of the policy, because PolicyServer's log does not say whose settings are invalid.
const NAME: &str = if cfg!(feature = "pods") {
    "managed-by-pods-policy"
} else {
    "managed-by-policy"
};

/// Response of `validate_settings`.
#[derive(Serialize)]
pub(crate) struct SettingsValidationResponse {
    valid: bool,
    message: Option<String>,
}

/// Builds the response of `validate_settings`.
pub(crate) fn settings(
    parsed: &Result<Settings<'_>, SettingsErrors>,
) -> SettingsValidationResponse {
    SettingsValidationResponse {
        valid: parsed.is_ok(),
        message: parsed.as_ref().err().map(|e| format!("{NAME}: {e}")),
    }
}

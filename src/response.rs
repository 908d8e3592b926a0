//! Verdicts in the words of Kubewarden.

use kubewarden_policy_sdk::response::ValidationResponse;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use managed_by::Verdict;
use managed_by::settings::{Problems, Settings};

/// The answer to `validate`. What is empty is left out.
pub(crate) fn validation(verdict: Verdict<'_>) -> ValidationResponse {
    let annotations = verdict.audit_annotations;
    let owned = |(key, value): (&str, String)| (key.to_owned(), value);
    ValidationResponse {
        accepted: verdict.allowed,
        message: verdict.message,
        code: verdict.code,
        mutated_object: None,
        audit_annotations: (!annotations.is_empty())
            .then(|| annotations.into_iter().map(owned).collect()),
        warnings: (!verdict.warnings.is_empty()).then_some(verdict.warnings),
    }
}

/// The answer to `validate_settings`.
pub(crate) fn settings(read: &Result<Settings, Problems>) -> SettingsValidationResponse {
    SettingsValidationResponse {
        valid: read.is_ok(),
        message: read.as_ref().err().map(ToString::to_string),
    }
}

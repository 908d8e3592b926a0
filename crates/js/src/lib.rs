//! The `managed-by` library for JavaScript: JSON text in, JSON text out.
//!
//! The npm package around it (`npm/`) turns plain objects into text and back. Text is what `JSON.parse` reads faster than anything
//! else makes objects, and it keeps numbers as they are written: `1.0` is no integer to kube-apiserver.
//!
//! Each function answers with `{"Ok": ...}`, or with `{"Err": ...}` and a [`Trouble`] that the package throws as an `Error`.

#[cfg(feature = "package")]
pub mod catalogue;
mod manifest;
mod replay;
mod settings;
mod trouble;
mod verdict;

use managed_by::{AdmissionRequest, AdmissionReview, Malformed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wasm_bindgen::prelude::wasm_bindgen;

pub use manifest::{Judged, Lint, ReleaseVerdict, Unreadable};
pub use replay::{ReplayCounts, ReplayObject, ReplayRow, ReplayStep, ReplayTally, Replaying};
pub use settings::{Problem, SettingsVerdict};
pub use trouble::{Code, Trouble};
pub use verdict::{Finding, Place, Verdict};

/// Judges an admission request, or the one in an `AdmissionReview`.
#[wasm_bindgen]
pub fn review(request: &str, settings: &str) -> String {
    answer(&judge(request, settings))
}

/// Judges the objects in a text of YAML or JSON as creates.
#[wasm_bindgen]
pub fn lint(text: &str, settings: &str, options: &str) -> String {
    answer(&manifest::lint(text, settings, options))
}

/// Judges the updates from the objects in one text to those in another.
#[wasm_bindgen]
pub fn diff(old: &str, new: &str, settings: &str, options: &str) -> String {
    answer(&manifest::diff(old, new, settings, options))
}

/// Says what is wrong with settings.
#[wasm_bindgen(js_name = validateSettings)]
pub fn validate_settings(settings: &str) -> String {
    answer(&Ok(SettingsVerdict::of(settings)))
}

/// Judges a request. One that makes no sense gets the answer that the policy gives: denied, code 400.
///
/// # Errors
/// If the settings are bad: a PolicyServer would not start with them.
pub fn judge(request: &str, settings: &str) -> Result<Verdict, Trouble> {
    settings::with(settings, |settings| {
        let judged = |request: &AdmissionRequest<'_>| {
            Verdict::of(&managed_by::review(request, settings), settings)
        };
        let malformed =
            |reason: Malformed| Verdict::of(&managed_by::Verdict::malformed(&reason), settings);
        if is_review(request) {
            AdmissionReview::from_json(request.as_bytes())
                .map_or_else(malformed, |review| judged(&review.request))
        } else {
            AdmissionRequest::from_json(request.as_bytes()).map_or_else(
                |reason| malformed(reason.within("request")),
                |request| judged(&request),
            )
        }
    })
}

/// Whether the text is an `AdmissionReview`, which holds the request as a member.
fn is_review(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Review<'a> {
        #[serde(borrow)]
        request: Option<&'a RawValue>,
    }
    serde_json::from_str::<Review<'_>>(text).is_ok_and(|review| review.request.is_some())
}

/// The text for the package. What is answered is made of strings, numbers and JSON, so that writing it cannot fail.
fn answer<T: Serialize>(answer: &Result<T, Trouble>) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

//! The `managed-by` library for JavaScript: JSON text in, JSON text out.
//!
//! The npm package around it (`npm/`) turns plain objects into text and back. Text is what `JSON.parse` reads faster than anything
//! else makes objects, and it keeps numbers as they are written: `1.0` is no integer to kube-apiserver.
//!
//! Each function answers with `{"Ok": ...}`, or with `{"Err": ...}` and a [`Error`] that the package throws as an `Error`.

#[cfg(feature = "package")]
pub mod catalogue;
mod error;
mod manifest;
mod replay;
mod settings;
mod verdict;

use managed_by::UserInfo;
use managed_by::{AdmissionRequest, AdmissionReview};
use managed_by_offline::Judge;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

pub use error::{Code, Error};
pub use manifest::{Judged, Lint, ReleaseVerdict, Unreadable};
pub use replay::{ReplayCounts, ReplayRow, ReplayStep, ReplayTally, Replaying};
pub use settings::{SettingsProblem, SettingsVerdict};
pub use verdict::{Finding, ReviewVerdict, TextPlace};

/// Judges an admission request, or the one in an `AdmissionReview`.
#[wasm_bindgen]
pub fn review(request: &str, settings: &str) -> String {
    answer(&judge(request, settings))
}

/// Who asks, where, and whether every release is asked. The package checks what it is given.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Asking {
    /// The namespace of objects that name none.
    namespace: String,
    user: UserInfo<'static>,
    all_releases: bool,
}

#[wasm_bindgen]
impl Asking {
    /// Nobody in particular asks.
    #[wasm_bindgen(constructor)]
    pub fn new(namespace: String, username: String, all_releases: bool) -> Self {
        let user = UserInfo {
            username: username.into(),
            groups: Vec::new(),
        };
        Self {
            namespace,
            user,
            all_releases,
        }
    }

    /// Who asks is a member of this group too.
    #[wasm_bindgen(js_name = addGroup)]
    pub fn add_group(&mut self, group: String) {
        self.user.groups.push(group.into());
    }
}

/// Judges the objects in a text of YAML or JSON as creates.
#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "JavaScript gives it away")]
pub fn lint(text: &str, settings: &str, asking: Asking) -> String {
    answer(&manifest::lint(text, settings, &asking))
}

/// Judges the updates from the objects in one text to those in another: of their status, or of the rest.
#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "JavaScript gives it away")]
pub fn diff(old: &str, new: &str, is_status: bool, settings: &str, asking: Asking) -> String {
    answer(&manifest::diff(old, new, is_status, settings, &asking))
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
pub fn judge(request: &str, settings: &str) -> Result<ReviewVerdict, Error> {
    settings::with(settings, |settings| {
        let judge = Judge::new(settings.clone(), None);
        let judged = |request: &AdmissionRequest<'_>| ReviewVerdict::of(judge.review(request));
        match AdmissionRequest::from_json(request.as_bytes()) {
            Ok(request) => judged(&request),
            // An `AdmissionReview` holds the request as a member.
            Err(reason) => match AdmissionReview::from_json(request.as_bytes()) {
                Ok(review) => judged(&review.request),
                Err(of_review) if of_review.path() != Some("request") => {
                    ReviewVerdict::malformed(&of_review)
                }
                Err(_) => ReviewVerdict::malformed(&reason.within("request")),
            },
        }
    })
}

/// The text for the package. What is answered is made of strings, numbers and JSON, so that writing it cannot fail.
fn answer<T: Serialize>(answer: &Result<T, Error>) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

//! The `managed-by` library for JavaScript. Functions take JSON text, or YAML for manifests and settings, and return JSON text.
//!
//! The npm package (`npm/`) converts between objects and text. Parsing text with `JSON.parse` is faster than building objects from
//! WebAssembly, and text preserves numbers such as `1.0`, which kube-apiserver does not accept as an integer.
//!
//! Each function returns `{"Ok": ...}`, or `{"Err": ...}` with an [`Error`] that the package throws.

mod error;
mod manifest;
mod position;
mod releases;
mod replay;
mod settings;

use managed_by::{AdmissionRequest, AdmissionReview, Evaluation, ReleaseSet, UserInfo};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use releases::ReleasesOption;

pub use error::{Error, ErrorCode, SettingsProblem};
pub use manifest::{Lint, ObjectVerdict, TextError};
pub use position::Position;
pub use replay::{Rejection, ReplayStep, ReplayTotals, Replayer};
pub use settings::SettingsVerdict;

/// Reviews an admission request, or the request in an `AdmissionReview`, for selected releases or for the settings.
#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "JavaScript moves it")]
pub fn review(request: &str, settings: &str, releases: Option<String>) -> String {
    let reviewed = ReleasesOption::parse(releases.as_deref())
        .and_then(|option| review_text(request, settings, option.releases));
    encode(&reviewed)
}

/// Options of [`lint`] and [`diff`], which the package has validated.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct RequestOptions {
    /// Namespace of objects without one.
    namespace: String,
    user: UserInfo<'static>,
    releases: Option<String>,
}

#[wasm_bindgen]
impl RequestOptions {
    /// Creates options for a user without groups.
    #[wasm_bindgen(constructor)]
    pub fn new(namespace: String, username: String, releases: Option<String>) -> Self {
        let user = UserInfo {
            username: username.into(),
            groups: Vec::new(),
        };
        Self {
            namespace,
            user,
            releases,
        }
    }

    /// Adds a group to the user.
    #[wasm_bindgen(js_name = addGroup)]
    pub fn add_group(&mut self, group: String) {
        self.user.groups.push(group.into());
    }
}

/// Reviews the objects in a YAML or JSON text as if a client created them.
#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "JavaScript moves it")]
pub fn lint(text: &str, settings: &str, options: RequestOptions) -> String {
    encode(&manifest::lint(text, settings, &options))
}

/// Reviews the updates from the objects in one text to the objects in another, either of the status or of the main resource.
#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "JavaScript moves it")]
pub fn diff(
    old: &str,
    new: &str,
    is_status: bool,
    settings: &str,
    options: RequestOptions,
) -> String {
    encode(&manifest::diff(old, new, is_status, settings, &options))
}

/// Returns the size of the module's memory in pages of 64 KiB.
#[cfg(target_family = "wasm")]
#[wasm_bindgen(js_name = memoryPages)]
pub fn memory_pages() -> usize {
    core::arch::wasm32::memory_size::<0>()
}

/// Returns the id of the rule with the nearest id, also for a name without its family.
#[wasm_bindgen(js_name = nearestRule)]
pub fn nearest_rule(id: &str) -> Option<String> {
    let ids = managed_by::rules().iter().map(|rule| rule.id());
    managed_by::nearest_name(id, ids).map(str::to_owned)
}

/// Validates settings.
#[wasm_bindgen(js_name = validateSettings)]
pub fn validate_settings(settings: &str) -> String {
    encode(&Ok(SettingsVerdict::new(settings)))
}

/// Reviews a request. A malformed request is denied with code 400, as in a cluster. For selected releases, all rules are enabled as in
/// [`lint`].
///
/// # Errors
/// If the settings are invalid.
pub fn review_text(
    request: &str,
    settings: &str,
    releases: Option<ReleaseSet>,
) -> Result<Evaluation, Error> {
    settings::with_settings(settings, |settings| {
        let settings = match releases {
            Some(_) => settings.clone().for_tools(),
            None => settings.clone(),
        };
        let evaluated =
            |request: &AdmissionRequest<'_>| managed_by::evaluate(request, &settings, releases);
        match AdmissionRequest::from_json(request.as_bytes()) {
            Ok(request) => evaluated(&request),
            // It may be an `AdmissionReview`, which contains the request.
            Err(reason) => match AdmissionReview::from_json(request.as_bytes()) {
                Ok(review) => evaluated(&review.request),
                Err(review_error) if review_error.path() != Some("request") => {
                    Evaluation::malformed(&review_error)
                }
                Err(_) => Evaluation::malformed(&reason.within("request")),
            },
        }
    })
}

/// Serializes a result. This cannot fail, because results consist of strings, numbers and JSON.
fn encode<T: Serialize>(result: &Result<T, Error>) -> String {
    serde_json::to_string(result).unwrap_or_default()
}

//! What the library says to the examples of rules.

use managed_by::{AdmissionRequest, Example, Settings, review};

/// The answer to an example, unless it takes a cluster to answer.
pub(crate) fn answer(example: &Example) -> Option<String> {
    let settings = Settings::from_json(example.settings.as_bytes()).ok()?;
    let json = example.full_request();
    let request = AdmissionRequest::from_json(json.as_bytes()).ok()?;
    let verdict = review(&request, &settings);
    let (code, message) = (verdict.code?, verdict.message?);
    Some(format!("The answer, with code {code}: {message}"))
}

//! Converts verdicts of the library to upstream's result type, and compares results.

use managed_by::{AdmissionRequest, Enforcement, Settings, evaluate};

use crate::vector::{Case, FieldError, ValidationResult};

/// Reviews a case with the library and returns the verdict in the form of upstream's result.
///
/// It contains only errors of kube-apiserver's rules. The project's own rules do not deny these cases by default.
pub fn library_result(case: &Case, settings: &Settings) -> ValidationResult {
    let release = settings.kubernetes_version().unwrap_or_default();
    let mut result = ValidationResult {
        releases: vec![release.as_str().to_owned()],
        errors: Vec::new(),
        message: String::new(),
        malformed: true,
    };
    let request = case.request().to_string();
    let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) else {
        return result;
    };
    result.malformed = false;
    let evaluation = evaluate(&request, settings, None);
    let message = evaluation.verdict.decision.message();
    message.unwrap_or_default().clone_into(&mut result.message);
    let findings = evaluation.findings.into_iter();
    for finding in findings.filter(|f| f.enforcement == Enforcement::Deny && f.rule.is_upstream()) {
        // The message of a denial names the rule unless the text is kube-apiserver's.
        let error = if finding.is_upstream {
            finding.message
        } else {
            format!("{} [{}]", finding.message, finding.rule.id())
        };
        let error = FieldError {
            field: finding.path,
            error,
        };
        // Upstream removes duplicate errors (`ErrorList.ToAggregate`).
        if !result.errors.contains(&error) {
            result.errors.push(error);
        }
    }
    result
}

/// Returns true if both results are malformed or neither is, and they have the same errors and message, byte for byte.
pub fn is_same(a: &ValidationResult, b: &ValidationResult) -> bool {
    (&a.errors, &a.message, a.malformed) == (&b.errors, &b.message, b.malformed)
}

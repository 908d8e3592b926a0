//! Converts verdicts of the library to upstream's result type, and compares results.

use managed_by::{AdmissionRequest, Enforcement, Evaluation, Release, Settings, evaluate};

use crate::vector::{Case, FieldError, ValidationResult};

/// Reviews a case with the library and returns the verdict in the form of upstream's result.
///
/// It contains only errors of kube-apiserver's rules. The project's own rules do not deny these cases by default.
pub fn library_result(case: &Case, settings: &Settings) -> ValidationResult {
    let release = settings.kubernetes_version().unwrap_or_default();
    let request = case.request().to_string();
    match AdmissionRequest::from_json(request.as_bytes()) {
        Ok(request) => to_result(&evaluate(&request, settings, None), release),
        Err(_) => ValidationResult {
            releases: vec![release.as_str().to_owned()],
            errors: Vec::new(),
            message: String::new(),
            malformed: true,
        },
    }
}

/// Converts an evaluation for a release.
pub(crate) fn to_result(evaluation: &Evaluation, release: Release) -> ValidationResult {
    let mut result = ValidationResult {
        releases: vec![release.as_str().to_owned()],
        errors: Vec::new(),
        message: evaluation
            .verdict
            .decision
            .message()
            .unwrap_or_default()
            .to_owned(),
        malformed: false,
    };
    let findings = evaluation.findings.iter();
    for finding in findings.filter(|f| f.enforcement == Enforcement::Deny && f.rule.is_upstream()) {
        // The message of a denial names the rule unless the text is kube-apiserver's.
        let error = if finding.is_upstream {
            finding.message.clone()
        } else {
            format!("{} [{}]", finding.message, finding.rule.id())
        };
        let error = FieldError {
            field: finding.path.clone(),
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

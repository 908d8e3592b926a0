//! Converts the library's verdicts into the form of upstream's answers, and compares them.

use managed_by::{AdmissionRequest, Enforcement, Release, Settings, Verdict, review};

use crate::vector::{Answer, Case, FieldError};

/// Reviews a case with the library and returns the verdict in the form of upstream's answer.
///
/// It contains only errors of kube-apiserver's rules. The project's own rules do not deny these cases by default.
pub fn library_answer(case: &Case, settings: &Settings) -> Answer {
    let release = settings.kubernetes_version().unwrap_or_default();
    let request = case.request().to_string();
    match AdmissionRequest::from_json(request.as_bytes()) {
        Ok(request) => as_answer(&review(&request, settings), release),
        Err(_) => Answer {
            releases: vec![release.as_str().to_owned()],
            errors: Vec::new(),
            message: String::new(),
            unreadable: true,
        },
    }
}

/// Converts a verdict for a release.
pub(crate) fn as_answer(verdict: &Verdict<'_>, release: Release) -> Answer {
    let mut answer = Answer {
        releases: vec![release.as_str().to_owned()],
        errors: Vec::new(),
        message: verdict.decision.message().unwrap_or_default().to_owned(),
        unreadable: false,
    };
    for (_, finding) in verdict
        .findings
        .iter()
        .filter(|(level, f)| *level == Enforcement::Deny && f.rule().is_upstream())
    {
        let error = FieldError {
            field: finding.error().path().to_owned(),
            error: finding.denial(release),
        };
        // Upstream removes duplicate errors (`ErrorList.ToAggregate`).
        if !answer.errors.contains(&error) {
            answer.errors.push(error);
        }
    }
    answer
}

/// Returns true if two answers have the same errors and message, byte for byte.
pub fn is_same(a: &Answer, b: &Answer) -> bool {
    (&a.errors, &a.message, a.unreadable) == (&b.errors, &b.message, b.unreadable)
}

//! Our answer beside upstream's.

use managed_by::{AdmissionRequest, Enforcement, Release, Settings, Verdict, review};

use crate::vector::{Answer, Case, FieldError};

/// What the library says to a case, as upstream's answer.
///
/// The message and the errors are those of kube-apiserver's rules; ours cannot deny by default.
pub fn ours(case: &Case, settings: &Settings) -> Answer {
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

/// A verdict in the words of a release, as upstream's answer.
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
        // Upstream's list drops what says the same (ErrorList.ToAggregate).
        if !answer.errors.contains(&error) {
            answer.errors.push(error);
        }
    }
    answer
}

/// Whether two answers say the same, to the byte.
pub fn same(a: &Answer, b: &Answer) -> bool {
    (&a.errors, &a.message, a.unreadable) == (&b.errors, &b.message, b.unreadable)
}

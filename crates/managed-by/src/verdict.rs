//! From findings to an answer.

use crate::finding::Finding;
use crate::go;
use crate::json::Malformed;
use crate::kind::KindProfile;
use crate::request::{AdmissionRequest, Change, Subject};
use crate::rule::{Context, Enforcement, Findings};
use crate::settings::{Problems, Settings};

/// kube-apiserver cuts a warning there.
const MAX_WARNING: usize = 256;

/// No annotation of ours is longer; the API server sets no limit of its own, audit back ends do.
const MAX_ANNOTATION: usize = 1024;

/// The answer to an admission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Whether the request may go on.
    pub allowed: bool,
    /// HTTP status of a denial: 422 for an invalid object, 400 for a request that makes no sense, 500 for settings that
    /// make none.
    pub code: Option<u16>,
    /// What the client reads when denied: kube-apiserver's words, in its envelope.
    pub message: Option<String>,
    /// Shown to the client either way; at most 256 bytes each.
    pub warnings: Vec<String>,
    /// For the audit log. `denied` and `warned` list the rules that fired, each with its path; `mode` and `controller`
    /// tell a delegated workload.
    pub audit_annotations: Vec<(&'static str, String)>,
    /// What the rules found, in the order of the catalogue, and what each finding does.
    pub findings: Vec<(Enforcement, Finding<'a>)>,
}

/// Judges a request: the one way through the library.
pub fn review<'a>(request: &'a AdmissionRequest<'a>, settings: &'a Settings) -> Verdict<'a> {
    match &request.subject {
        Subject::NotJudged => Verdict::accepted(),
        Subject::UnknownKind(gvk) => Verdict {
            warnings: vec![cut(
                format!(
                    "managed-by-policy knows no {} {} of {} and let it pass unread",
                    quoted(&gvk.version),
                    quoted(&gvk.kind),
                    quoted(&gvk.group),
                ),
                MAX_WARNING,
            )],
            ..Verdict::accepted()
        },
        Subject::Change(kind, change) => judge(request, kind, change, settings),
    }
}

fn judge<'a>(
    request: &'a AdmissionRequest<'a>,
    kind: &'static KindProfile,
    change: &'a Change<'a>,
    settings: &'a Settings,
) -> Verdict<'a> {
    let context = Context::new(kind, change, settings);
    let release = settings.kubernetes_version;
    let mut list = Vec::new();
    for (rule, enforcement) in settings.rules() {
        if enforcement == Enforcement::Off || !rule.holds_in(release) {
            continue;
        }
        let mut findings = Findings {
            rule,
            list,
            enforcement,
        };
        rule.run(&context, &mut findings);
        list = findings.list;
    }
    let of_level = |wanted| list.iter().filter(move |(level, _)| *level == wanted);
    let denials = of_level(Enforcement::Deny).map(|(_, finding)| finding.denial(release));
    let errors: Vec<String> = denials.collect();
    let warnings =
        of_level(Enforcement::Warn).map(|(_, finding)| cut(finding.warning(release), MAX_WARNING));
    let mut warnings: Vec<String> = warnings.collect();
    warnings.extend(pointer(of_level(Enforcement::Deny)));
    let allowed = errors.is_empty();
    Verdict {
        allowed,
        code: (!allowed).then_some(422),
        message: (!allowed).then(|| envelope(kind, &request.name, &errors)),
        warnings,
        audit_annotations: annotations(kind, change, &list),
        findings: list,
    }
}

/// kube-apiserver's words leave no room for the id of the rule that speaks them: a warning, which clients show beside a
/// denial, says which page explains it.
fn pointer<'a, 'b: 'a>(
    denials: impl Iterator<Item = &'a (Enforcement, Finding<'b>)>,
) -> Option<String> {
    let mut ids: Vec<&str> = Vec::new();
    for (_, finding) in denials.filter(|(_, finding)| finding.rule().is_upstream()) {
        if !ids.contains(&finding.rule().id) {
            ids.push(finding.rule().id);
        }
    }
    let plural = if ids.len() > 1 { "s" } else { "" };
    let text = || format!("managed-by-policy: see rule{plural} {}", ids.join(", "));
    (!ids.is_empty()).then(|| cut(text(), MAX_WARNING))
}

/// The message of `apierrors.NewInvalid`: one error as it is, several in brackets, none of them twice.
fn envelope(kind: &KindProfile, name: &str, errors: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::with_capacity(errors.len());
    for error in errors {
        if !distinct.contains(&error.as_str()) {
            distinct.push(error);
        }
    }
    let name = go::quote(name);
    let list = distinct.join(", ");
    let (open, close) = if distinct.len() > 1 {
        ("[", "]")
    } else {
        ("", "")
    };
    format!(
        "{}.{} {name} is invalid: {open}{list}{close}",
        kind.kind, kind.group
    )
}

fn annotations(
    kind: &KindProfile,
    change: &Change<'_>,
    findings: &[(Enforcement, Finding<'_>)],
) -> Vec<(&'static str, String)> {
    let mut annotations = Vec::new();
    let managed_by = change.object().managed_by.as_deref();
    if let Some(controller) = managed_by.filter(|v| *v != kind.reserved) {
        annotations.push(("mode", "Delegated".to_owned()));
        annotations.push(("controller", cut(go::quote(controller), MAX_WARNING)));
    }
    for (key, wanted) in [("denied", Enforcement::Deny), ("warned", Enforcement::Warn)] {
        let mut fired: Vec<String> = Vec::new();
        for (_, finding) in findings.iter().filter(|(level, _)| *level == wanted) {
            let entry = format!("{} {}", finding.rule().id, finding.error().path());
            if !fired.contains(&entry) {
                fired.push(entry);
            }
        }
        if !fired.is_empty() {
            annotations.push((key, cut(fired.join(", "), MAX_ANNOTATION)));
        }
    }
    annotations
}

impl Verdict<'_> {
    fn accepted() -> Self {
        Self {
            allowed: true,
            code: None,
            message: None,
            warnings: Vec::new(),
            audit_annotations: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The answer to bytes that are no admission request.
    pub fn malformed(reason: &Malformed) -> Self {
        Self {
            allowed: false,
            code: Some(400),
            message: Some(format!("malformed admission request: {reason}")),
            ..Self::accepted()
        }
    }

    /// The answer while the policy's settings are bad. The requester can do nothing about it.
    pub fn misconfigured(problems: &Problems) -> Self {
        Self {
            allowed: false,
            code: Some(500),
            message: Some(format!("managed-by-policy is misconfigured: {problems}")),
            ..Self::accepted()
        }
    }

    /// The rules that fired, with the paths.
    pub fn fired(&self) -> Vec<(&'static str, String)> {
        let pair = |(_, finding): &(Enforcement, Finding<'_>)| {
            (finding.rule().id, finding.error().path().to_owned())
        };
        self.findings.iter().map(pair).collect()
    }
}

/// Somebody's word, but not more of it than a name could be.
fn quoted(word: &str) -> String {
    go::quote(&cut(word.to_owned(), 40))
}

/// The text, or as much of it as fits with three dots behind.
fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        let mut end = max.saturating_sub(3);
        while !text.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

//! From findings to an answer.

use std::collections::BTreeSet;

use crate::decode::Malformed;
use crate::description::Enforcement;
use crate::finding::{ErrorType, Finding};
use crate::kind::Mode;
use crate::release::Release;
use crate::request::{AdmissionRequest, GroupVersionKind, Subject};
use crate::rule::pods::LookupFailed;
use crate::settings::{OnLookupFailure, Problems, Role, Settings};
use crate::upstream::go;

/// kube-apiserver cuts a warning there.
const MAX_WARNING: usize = 256;

/// kube-apiserver passes on 4,096 bytes of warnings in all.
const MAX_WARNINGS: usize = 15;

/// No annotation is longer; the API server sets no limit of its own, audit back ends do.
const MAX_ANNOTATION: usize = 1024;

/// The answer to an admission request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict<'a> {
    /// The decision on the request.
    pub decision: Decision,
    /// Shown to the client either way; at most 256 bytes each.
    pub warnings: Vec<String>,
    /// For the audit log. `denied` and `warned` list the rules that fired, each with its path, `exempted` the rules that
    /// would have denied; `mode` and `controller` tell a delegated workload.
    pub audit_annotations: Vec<(&'static str, String)>,
    /// What the rules found, in the order of the catalogue, and what each finding does.
    pub findings: Vec<(Enforcement, Finding<'a>)>,
}

/// The decision on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed.
    Allowed,
    /// The request is denied.
    Denied {
        /// HTTP status: 422 for an invalid object, 403 for a forbidden write, 400 for a malformed request, 500 for invalid
        /// settings, 503 if a lookup in the cluster failed.
        code: u16,
        /// Error message for the client, as kube-apiserver formats it.
        message: String,
    },
}

impl Decision {
    /// Returns true if the request is allowed.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed)
    }

    /// Returns the HTTP status of a denial.
    pub const fn code(&self) -> Option<u16> {
        match self {
            Self::Allowed => None,
            Self::Denied { code, .. } => Some(*code),
        }
    }

    /// Returns the message of a denial.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Allowed => None,
            Self::Denied { message, .. } => Some(message),
        }
    }
}

impl Verdict<'_> {
    /// The answer to a request without findings.
    pub(crate) fn accepted() -> Self {
        Self {
            decision: Decision::Allowed,
            warnings: Vec::new(),
            audit_annotations: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The answer to bytes that are no admission request.
    pub fn malformed(reason: &Malformed) -> Self {
        Self::denied(400, format!("malformed admission request: {reason}"))
    }

    /// The answer while the policy's settings are bad. The requester can do nothing about it.
    pub fn misconfigured(problems: &Problems) -> Self {
        Self::denied(
            500,
            format!("managed-by-policy is misconfigured: {problems}"),
        )
    }

    /// The answer to an object of a kind that the library does not know.
    pub(crate) fn unknown_kind(kind: &GroupVersionKind<'_>) -> Self {
        let warning = format!(
            "managed-by-policy knows no {} {} of {} and let it pass unread",
            quoted(&kind.version),
            quoted(&kind.kind),
            quoted(&kind.group),
        );
        Self::accepted().warning(warning)
    }

    /// The answer to a pod where the settings ask for nothing: the audit log says why nothing was judged.
    pub(crate) fn pod_not_judged(role: Role) -> Self {
        let mut verdict = Self::accepted();
        let why = format!(
            "pods are judged with role management, not {}",
            role.as_str()
        );
        verdict.audit_annotations.push(("not-judged", why));
        verdict
    }

    /// The answer to a pod whose Job could not be looked up.
    #[cold]
    pub(crate) fn lookup_failed(failure: &LookupFailed<'_>, on_failure: OnLookupFailure) -> Self {
        let id = failure.rule.id();
        let name = go::quote(failure.job);
        let text = format!("could not look up Job {name}, which controls this pod");
        let why = cut(go::quote(&failure.why.to_string()), MAX_WARNING);
        let mut verdict = match on_failure {
            OnLookupFailure::Deny => Self::denied(503, format!("{text}: {why}; try again [{id}]")),
            OnLookupFailure::Allow => {
                Self::accepted().warning(format!("{text}, and let it pass [{id}]"))
            }
        };
        let annotation = cut(format!("Job {name}: {why}"), MAX_ANNOTATION);
        verdict
            .audit_annotations
            .push(("lookup-failed", annotation));
        verdict
    }

    /// The same, with nothing borrowed.
    pub(crate) fn into_owned(self) -> Verdict<'static> {
        let findings = self.findings.into_iter();
        Verdict {
            decision: self.decision,
            warnings: self.warnings,
            audit_annotations: self.audit_annotations,
            findings: findings
                .map(|(enforcement, finding)| (enforcement, finding.into_owned()))
                .collect(),
        }
    }

    fn denied(code: u16, message: String) -> Self {
        Self {
            decision: Decision::Denied { code, message },
            ..Self::accepted()
        }
    }

    fn warning(mut self, warning: String) -> Self {
        self.warnings.push(cut(warning, MAX_WARNING));
        self
    }
}

/// The answer to a request in which the rules found something, or nothing, in the words of a release.
///
/// # Errors
/// If the exemptions of the settings are bad, and one might apply.
pub(crate) fn answer<'a>(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    mut findings: Vec<(Enforcement, Finding<'a>)>,
    release: Release,
) -> Result<Verdict<'a>, Problems> {
    let exempted = take_exempted(request, settings, &mut findings)?;
    let of_level = |wanted| findings.iter().filter(move |(level, _)| *level == wanted);
    let denials: Vec<&Finding<'a>> = of_level(Enforcement::Deny).map(|(_, f)| f).collect();
    // An exemption first: of many warnings the last are cut.
    let exemption = exempted.iter().map(|exempted| exempted.warning.clone());
    let warned = of_level(Enforcement::Warn).map(|(_, finding)| finding.warning(release));
    let warnings = exemption.chain(warned);
    let mut warnings: Vec<String> = warnings.map(|warning| cut(warning, MAX_WARNING)).collect();
    warnings.truncate(MAX_WARNINGS);
    warnings.extend(rules_of_upstream_denials(&denials));
    let mut audit_annotations = annotations(request, &findings);
    audit_annotations.extend(exempted.map(|exempted| ("exempted", exempted.rules)));
    let decision = if denials.is_empty() {
        Decision::Allowed
    } else {
        let is_access_error = denials
            .iter()
            .any(|f| f.error().error_type().is_access_error());
        let told = denials.iter().map(|finding| (*finding, release));
        Decision::Denied {
            code: if is_access_error { 403 } else { 422 },
            message: envelope(request, told, is_access_error),
        }
    };
    Ok(Verdict {
        decision,
        warnings,
        audit_annotations,
        findings,
    })
}

/// One answer for several releases that do not all say the same: a denial where one of them denies, which tells each finding, in
/// the words of the release beside it.
///
/// `verdicts` are the answers of the releases, oldest first. A warning of any of them is kept.
#[cold]
pub(crate) fn answer_of_all<'a>(
    request: &AdmissionRequest<'_>,
    verdicts: &[&Verdict<'a>],
    findings: Vec<(Enforcement, Finding<'a>, Release)>,
) -> Verdict<'a> {
    let mut verdict = Verdict::accepted();
    let denials = findings
        .iter()
        .filter(|(level, ..)| *level == Enforcement::Deny)
        .map(|(_, finding, release)| (finding, *release));
    let mut code = None;
    for one in verdicts {
        code = one.decision.code().or(code);
        for warning in &one.warnings {
            if !verdict.warnings.contains(warning) {
                verdict.warnings.push(warning.clone());
            }
        }
        for exempted in &one.audit_annotations {
            if exempted.0 == "exempted" {
                verdict.audit_annotations = vec![exempted.clone()];
            }
        }
    }
    // As many as one release gives, with the line that names the rules.
    verdict.warnings.truncate(MAX_WARNINGS + 1);
    if let Some(code) = code {
        let message = envelope(request, denials, code == 403);
        verdict.decision = Decision::Denied { code, message };
    }
    verdict.findings = findings.into_iter().map(|(e, f, _)| (e, f)).collect();
    let mut annotations = annotations(request, &verdict.findings);
    annotations.append(&mut verdict.audit_annotations);
    verdict.audit_annotations = annotations;
    verdict
}

/// kube-apiserver's text leaves no room for the id of the rule that denied: a warning, which clients show beside a denial,
/// says which page explains it.
fn rules_of_upstream_denials(denials: &[&Finding<'_>]) -> Option<String> {
    let mut ids: Vec<&str> = Vec::new();
    for finding in denials.iter().filter(|finding| finding.is_upstream()) {
        if !ids.contains(&finding.rule().id()) {
            ids.push(finding.rule().id());
        }
    }
    let plural = if ids.len() > 1 { "s" } else { "" };
    let text = || format!("managed-by-policy: see rule{plural} {}", ids.join(", "));
    (!ids.is_empty()).then(|| cut(text(), MAX_WARNING))
}

/// What to tell of an exemption.
struct Exempted {
    /// For the audit annotation.
    rules: String,
    warning: String,
}

/// Takes out what site-specific rules deny to somebody who is exempt.
fn take_exempted(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    findings: &mut Vec<(Enforcement, Finding<'_>)>,
) -> Result<Option<Exempted>, Problems> {
    let is_denied = |(level, finding): &(Enforcement, Finding<'_>)| {
        *level == Enforcement::Deny && finding.rule().is_site_specific()
    };
    if !findings.iter().any(is_denied) {
        return Ok(None);
    }
    let Some(exemption) = settings.exemption(&request.user)? else {
        return Ok(None);
    };
    let (mut ids, mut rules) = (Vec::new(), Vec::new());
    for (_, finding) in findings.iter().filter(|entry| is_denied(entry)) {
        ids.push(finding.rule().id());
        rules.push(fired(finding));
    }
    let ids = ids.join(", ");
    findings.retain(|entry| !is_denied(entry));
    Ok(Some(Exempted {
        rules: cut(rules.join(", "), MAX_ANNOTATION),
        warning: format!("{ids} would have denied this, but {exemption} is exempt"),
    }))
}

/// A rule and the path of what it found.
fn fired(finding: &Finding<'_>) -> String {
    format!("{} {}", finding.rule().id(), finding.error().path())
}

const POD: Target<'_> = Target {
    group: "",
    kind: "Pod",
    plural: "pods",
};

/// The object of a request as kube-apiserver names it in errors.
struct Target<'r> {
    group: &'r str,
    kind: &'r str,
    plural: &'r str,
}

impl<'r> Target<'r> {
    fn of(request: &'r AdmissionRequest<'_>) -> Self {
        let (group, kind, plural) = match &request.subject {
            Subject::Change(kind, _) => (kind.group(), kind.name(), kind.plural()),
            Subject::Pod(_) => return POD,
            Subject::NotJudged | Subject::UnknownKind(_) => ("", "", ""),
        };
        // A request without a resource is none of kube-apiserver's.
        let plural = if request.resource.is_empty() {
            plural
        } else {
            &request.resource
        };
        Self {
            group,
            kind,
            plural,
        }
    }

    /// `jobs.batch`; the core group has no name.
    fn with_group(&self, name: &str) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{name}{dot}{}", self.group)
    }
}

/// The message of `apierrors.NewInvalid`, or of `apierrors.NewForbidden` if a rule about permission denies, whose errors then
/// stand alone. One error stands as it is, several in brackets, and none twice.
#[cold]
fn envelope<'f, 'a: 'f>(
    request: &AdmissionRequest<'_>,
    denials: impl Iterator<Item = (&'f Finding<'a>, Release)>,
    is_access_error: bool,
) -> String {
    let target = Target::of(request);
    let mut seen = BTreeSet::new();
    let mut list = String::new();
    for (finding, release) in denials {
        if finding.error().error_type().is_access_error() != is_access_error {
            continue;
        }
        let error = match finding.error().error_type() {
            ErrorType::Unauthorized => finding.named(&unauthorized(request, &target, finding)),
            _ => finding.denial(release),
        };
        if seen.contains(&error) {
            continue;
        }
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(&error);
        seen.insert(error);
    }
    let name = go::quote(&request.name);
    let (open, close) = if seen.len() > 1 { ("[", "]") } else { ("", "") };
    let (what, is) = if is_access_error {
        (target.with_group(target.plural), "forbidden")
    } else {
        (target.with_group(target.kind), "invalid")
    };
    format!("{what} {name} is {is}: {open}{list}{close}")
}

/// The text of kube-apiserver's authorizer (`forbiddenMessage` in `k8s.io/apiserver`), and why.
#[cold]
fn unauthorized(
    request: &AdmissionRequest<'_>,
    target: &Target<'_>,
    finding: &Finding<'_>,
) -> String {
    format!(
        "User {} cannot update resource \"{}/{}\" in API group {} in the namespace {}: {}",
        go::quote(&request.user.username),
        target.plural,
        finding.error().path(),
        go::quote(target.group),
        go::quote(&request.namespace),
        finding.error().detail(),
    )
}

fn annotations(
    request: &AdmissionRequest<'_>,
    findings: &[(Enforcement, Finding<'_>)],
) -> Vec<(&'static str, String)> {
    let mut annotations = Vec::new();
    if let Subject::Change(kind, change) = &request.subject {
        let mode = change.spec_holder().mode(kind);
        annotations.push(("mode", mode.as_str().to_owned()));
        if let Mode::Delegated(controller) = mode {
            annotations.push(("controller", cut(go::quote(controller), MAX_WARNING)));
        }
    }
    for (key, wanted) in [("denied", Enforcement::Deny), ("warned", Enforcement::Warn)] {
        let mut seen = BTreeSet::new();
        let mut list = String::new();
        for (_, finding) in findings.iter().filter(|(level, _)| *level == wanted) {
            if list.len() > MAX_ANNOTATION {
                break;
            }
            if seen.insert((finding.rule().id(), finding.error().path())) {
                let separator = if list.is_empty() { "" } else { ", " };
                list.extend([separator, &fired(finding)]);
            }
        }
        if !list.is_empty() {
            annotations.push((key, cut(list, MAX_ANNOTATION)));
        }
    }
    annotations
}

/// Somebody's word, but not more of it than a name could be.
fn quoted(word: &str) -> String {
    go::quote(&cut(word.to_owned(), 40))
}

/// The text, or as much of it as fits with three dots behind.
fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(go::prefix(&text, max.saturating_sub(3)).len());
        text.push_str("...");
    }
    text
}

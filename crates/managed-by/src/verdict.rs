//! From findings to an answer.

mod pods;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::catalogue;
use crate::cluster::{Cluster, Offline};
use crate::finding::{ErrorType, Finding};
use crate::go;
use crate::json::Malformed;
use crate::kind::KindProfile;
use crate::request::{AdmissionRequest, Change, Subject};
use crate::rule::{Context, Enforcement};
use crate::settings::{Checked, Problems, Settings};

/// kube-apiserver cuts a warning there.
const MAX_WARNING: usize = 256;

/// kube-apiserver passes on 4,096 bytes of warnings in all.
const MAX_WARNINGS: usize = 15;

/// No annotation of ours is longer; the API server sets no limit of its own, audit back ends do.
const MAX_ANNOTATION: usize = 1024;

/// The answer to an admission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Whether the request may go on.
    pub allowed: bool,
    /// HTTP status of a denial: 422 for an invalid object, 403 for one that may not be written here or by this user, 400
    /// for a request that makes no sense, 500 for settings that make none.
    pub code: Option<u16>,
    /// What the client reads when denied: kube-apiserver's words, in its envelope.
    pub message: Option<String>,
    /// Shown to the client either way; at most 256 bytes each.
    pub warnings: Vec<String>,
    /// For the audit log. `denied` and `warned` list the rules that fired, each with its path, `exempted` those that
    /// would have denied; `mode` and `controller` tell a delegated workload.
    pub audit_annotations: Vec<(&'static str, String)>,
    /// What the rules found, in the order of the catalogue, and what each finding does.
    pub findings: Vec<(Enforcement, Finding<'a>)>,
}

/// Judges a request, without a cluster to ask.
pub fn review<'a>(request: &'a AdmissionRequest<'a>, settings: &'a Settings<'a>) -> Verdict<'a> {
    review_in(request, settings, &Offline)
}

/// Judges a request: the one way through the library. Of the cluster it asks what the request and the settings call for.
pub fn review_in<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    cluster: &dyn Cluster,
) -> Verdict<'a> {
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
        Subject::Pod(pod) => pods::judge(request, pod, settings, cluster)
            .unwrap_or_else(|problems| Verdict::misconfigured(&problems)),
        Subject::Change(kind, change) => {
            let context = Context::new(request, kind, change, settings);
            judge(&context).unwrap_or_else(|problems| Verdict::misconfigured(&problems))
        }
    }
}

fn judge<'a>(context: &Context<'a>) -> Checked<Verdict<'a>> {
    let settings = context.settings;
    let release = settings.kubernetes_version;
    let mut list = catalogue::run(context)?;
    let skipped = skipped(context, &mut list)?;
    let of_level = |wanted| list.iter().filter(move |(level, _)| *level == wanted);
    let denials: Vec<&Finding<'a>> = of_level(Enforcement::Deny).map(|(_, f)| f).collect();
    // An exemption first: of many warnings the last are cut.
    let exempted = skipped.iter().map(|(_, warning)| warning.clone());
    let warned = of_level(Enforcement::Warn).map(|(_, finding)| finding.warning(release));
    let warnings = exempted.chain(warned);
    let mut warnings: Vec<String> = warnings.map(|warning| cut(warning, MAX_WARNING)).collect();
    warnings.truncate(MAX_WARNINGS);
    warnings.extend(pointer(&denials));
    let mut audit_annotations = annotations(context.kind, context.change, &list);
    audit_annotations.extend(skipped.map(|(rules, _)| ("exempted", rules)));
    let allowed = denials.is_empty();
    let of_access = denials
        .iter()
        .any(|f| f.error().error_type().is_of_access());
    Ok(Verdict {
        allowed,
        code: (!allowed).then_some(if of_access { 403 } else { 422 }),
        message: (!allowed).then(|| envelope(context, &denials, of_access)),
        warnings,
        audit_annotations,
        findings: list,
    })
}

/// kube-apiserver's words leave no room for the id of the rule that speaks them: a warning, which clients show beside a
/// denial, says which page explains it.
fn pointer(denials: &[&Finding<'_>]) -> Option<String> {
    let mut ids: Vec<&str> = Vec::new();
    for finding in denials
        .iter()
        .filter(|finding| finding.has_upstream_words())
    {
        if !ids.contains(&finding.rule().id) {
            ids.push(finding.rule().id);
        }
    }
    let plural = if ids.len() > 1 { "s" } else { "" };
    let text = || format!("managed-by-policy: see rule{plural} {}", ids.join(", "));
    (!ids.is_empty()).then(|| cut(text(), MAX_WARNING))
}

/// Takes out what site rules deny to somebody who is exempt, and gives what to tell of it: the audit annotation and the
/// warning.
fn skipped<'a>(
    context: &Context<'a>,
    list: &mut Vec<(Enforcement, Finding<'a>)>,
) -> Checked<Option<(String, String)>> {
    let denied = |(level, finding): &(Enforcement, Finding<'_>)| {
        *level == Enforcement::Deny && finding.rule().is_of_site()
    };
    if !list.iter().any(denied) {
        return Ok(None);
    }
    let Some(exemption) = context.settings.exemption(&context.request.user)? else {
        return Ok(None);
    };
    let findings = list.iter().filter(|entry| denied(entry));
    let (mut ids, mut rules) = (Vec::new(), Vec::new());
    for (_, finding) in findings {
        ids.push(finding.rule().id);
        rules.push(format!("{} {}", finding.rule().id, finding.error().path()));
    }
    let warning = format!(
        "{} would have denied this, but {exemption} is exempt",
        ids.join(", ")
    );
    list.retain(|entry| !denied(entry));
    Ok(Some((cut(rules.join(", "), MAX_ANNOTATION), warning)))
}

/// The message of `apierrors.NewInvalid`, or of `apierrors.NewForbidden` where it is a matter of access: one error as it
/// is, several in brackets, none of them twice. Who has no access is told nothing else.
#[cold]
fn envelope(context: &Context<'_>, denials: &[&Finding<'_>], of_access: bool) -> String {
    let (request, kind) = (context.request, context.kind);
    let release = context.settings.kubernetes_version;
    let mut seen = BTreeSet::new();
    let mut list = String::new();
    let said = |finding: &&&Finding<'_>| finding.error().error_type().is_of_access() == of_access;
    for finding in denials.iter().filter(said) {
        let error = match finding.error().error_type() {
            ErrorType::Unauthorized => finding.named(&unauthorized(request, kind, finding)),
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
    let (what, is) = if of_access {
        (plural(request, kind), "forbidden")
    } else {
        (Cow::Borrowed(kind.kind), "invalid")
    };
    format!("{what}.{} {name} is {is}: {open}{list}{close}", kind.group)
}

/// The words of kube-apiserver's authorizer (`forbiddenMessage` in `k8s.io/apiserver`), and why.
#[cold]
fn unauthorized(
    request: &AdmissionRequest<'_>,
    kind: &KindProfile,
    finding: &Finding<'_>,
) -> String {
    format!(
        "User {} cannot update resource \"{}/{}\" in API group {} in the namespace {}: {}",
        go::quote(&request.user.username),
        plural(request, kind),
        finding.error().path(),
        go::quote(kind.group),
        go::quote(&request.namespace),
        finding.error().detail(),
    )
}

/// The resource's name. A request without one is none of kube-apiserver's.
fn plural<'r>(request: &'r AdmissionRequest<'_>, kind: &KindProfile) -> Cow<'r, str> {
    if request.resource.is_empty() {
        Cow::Borrowed(kind.plural)
    } else {
        Cow::Borrowed(&request.resource)
    }
}

fn annotations(
    kind: &KindProfile,
    change: &Change<'_>,
    findings: &[(Enforcement, Finding<'_>)],
) -> Vec<(&'static str, String)> {
    let mut annotations = Vec::new();
    // kube-apiserver keeps the old spec in an update of the status.
    let object = match change {
        Change::UpdateStatus { old, .. } => old,
        Change::Create { object } | Change::Update { object, .. } => object,
    };
    let managed_by = object.managed_by.as_deref();
    if let Some(controller) = managed_by.filter(|v| *v != kind.reserved) {
        annotations.push(("mode", "Delegated".to_owned()));
        annotations.push(("controller", cut(go::quote(controller), MAX_WARNING)));
    } else {
        annotations.push(("mode", "Standard".to_owned()));
    }
    for (key, wanted) in [("denied", Enforcement::Deny), ("warned", Enforcement::Warn)] {
        let mut seen = BTreeSet::new();
        let mut fired = String::new();
        for (_, finding) in findings.iter().filter(|(level, _)| *level == wanted) {
            let (id, path) = (finding.rule().id, finding.error().path());
            if fired.len() > MAX_ANNOTATION {
                break;
            }
            if seen.insert((id, path)) {
                let separator = if fired.is_empty() { "" } else { ", " };
                fired.extend([separator, id, " ", path]);
            }
        }
        if !fired.is_empty() {
            annotations.push((key, cut(fired, MAX_ANNOTATION)));
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

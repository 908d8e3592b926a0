//! Verdicts: the response to an admission request, built from findings. `review` creates them.

use std::collections::BTreeSet;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::cluster::LookupError;
use crate::decode::DecodeError;
use crate::description::Enforcement;
use crate::finding::{ErrorType, RuleFinding};
use crate::kind::Reconciler;
use crate::release::Release;
use crate::request::{AdmissionRequest, GroupVersionKind, RequestTarget};
use crate::rule::pods::LookupFailed;
use crate::settings::{OnLookupFailure, Role, Settings, SettingsErrors};
use crate::upstream::go;

/// Maximum length of a warning in bytes. If all warnings of a response exceed 4,096 characters, kube-apiserver truncates each to 256.
const MAX_WARNING: usize = 256;

/// Maximum number of warnings, not counting `upstream_rules_warning`, so that kube-apiserver forwards all of them untruncated.
const MAX_WARNINGS: usize = 15;

/// Maximum length of an audit annotation in bytes. The API server has no limit, but audit backends do.
const MAX_ANNOTATION: usize = 1024;

/// Audit annotation of a pod that was not evaluated, with the reason.
pub(crate) const NOT_VALIDATED: &str = "not-validated";

/// Audit annotation of a pod whose Job could not be looked up, or of a workload whose queue could not, with the reason.
pub(crate) const LOOKUP_FAILED: &str = "lookup-failed";

/// Response to an admission request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Verdict {
    /// The decision on the request.
    #[serde(flatten)]
    pub decision: Decision,
    /// Warnings for the client, at most 256 bytes each.
    pub warnings: Vec<String>,
    /// Audit annotations. `denied` and `warned` list rules with paths, and `exempted` the rules that would have denied. `mode` and
    /// `controller` describe who reconciles the workload. `not-validated` and `lookup-failed` contain the reason why no rule ran.
    #[serde(serialize_with = "serialize_annotations")]
    pub audit_annotations: Vec<(&'static str, String)>,
}

/// Verdict with the findings that it is based on, in the order of the rules, each with its enforcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleResults<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) findings: Vec<(Enforcement, RuleFinding<'a>)>,
}

/// A verdict without findings: the rules did not run.
impl From<Verdict> for RuleResults<'_> {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            findings: Vec::new(),
        }
    }
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
        /// Error message for the client, in kube-apiserver's format.
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

/// Serializes `allowed`, and for a denial `code` and `message`.
impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        map.serialize_entry("allowed", &self.is_allowed())?;
        if let Self::Denied { code, message } = self {
            map.serialize_entry("code", code)?;
            map.serialize_entry("message", message)?;
        }
        map.end()
    }
}

fn serialize_annotations<S: Serializer>(
    annotations: &[(&'static str, String)],
    json: S,
) -> Result<S::Ok, S::Error> {
    json.collect_map(annotations.iter().map(|(key, value)| (key, value)))
}

impl Verdict {
    /// Creates a verdict that allows the request.
    pub fn allowed() -> Self {
        Self {
            decision: Decision::Allowed,
            warnings: Vec::new(),
            audit_annotations: Vec::new(),
        }
    }

    /// Creates a denial of a request that can't be decoded.
    pub fn malformed(reason: &DecodeError) -> Self {
        Self::denied(400, format!("malformed admission request: {reason}"))
    }

    /// Creates a denial of an object that can't be decoded and is not part of an admission request.
    pub fn malformed_object(reason: &DecodeError) -> Self {
        Self::denied(400, reason.to_string())
    }

    /// Creates a denial because the policy's settings are invalid.
    pub fn misconfigured(problems: &SettingsErrors) -> Self {
        Self::denied(
            500,
            format!("managed-by-policy is misconfigured: {problems}"),
        )
    }

    /// Creates a verdict that allows an object of an unknown kind, with a warning.
    pub(crate) fn unknown_kind(kind: &GroupVersionKind<'_>) -> Self {
        let warning = format!(
            "unsupported kind {} in {}/{}: not validated by managed-by-policy",
            quote_truncated(&kind.kind),
            quote_truncated(&kind.group),
            quote_truncated(&kind.version),
        );
        Self::allowed().with_warning(warning)
    }

    /// Creates a verdict that allows a pod without evaluating it. The audit annotation contains the reason.
    pub(crate) fn pod_skipped(role: Role) -> Self {
        let mut verdict = Self::allowed();
        let reason = format!(
            "pods are validated only if role is management or unset; role is {}",
            role.as_str()
        );
        verdict.audit_annotations.push((NOT_VALIDATED, reason));
        verdict
    }

    /// Creates a verdict for a pod whose Job lookup failed.
    #[cold]
    pub(crate) fn lookup_failed(failure: &LookupFailed<'_>, on_failure: OnLookupFailure) -> Self {
        let id = failure.rule.id();
        let name = go::quote(failure.job);
        let text = format!("could not look up Job {name}, which controls this pod");
        let reason = truncate(go::quote(&failure.error.to_string()), MAX_WARNING);
        let mut verdict = match (&failure.error, on_failure) {
            (LookupError::Unreachable(_), OnLookupFailure::Allow) => {
                Self::allowed().with_warning(format!("{text}; the pod was not validated [{id}]"))
            }
            (LookupError::Unreachable(_), OnLookupFailure::Deny)
            | (LookupError::Unreadable(_), _) => {
                Self::denied(503, format!("{text}: {reason} [{id}]"))
            }
        };
        let annotation = truncate(format!("Job {name}: {reason}"), MAX_ANNOTATION);
        verdict.audit_annotations.push((LOOKUP_FAILED, annotation));
        verdict
    }

    fn denied(code: u16, message: String) -> Self {
        Self {
            decision: Decision::Denied { code, message },
            ..Self::allowed()
        }
    }

    fn with_warning(mut self, warning: String) -> Self {
        self.warnings.push(truncate(warning, MAX_WARNING));
        self
    }
}

/// Builds the verdict of a request from its findings, with the messages of a release. Removes the findings that the user is exempt from.
///
/// # Errors
/// Fails if the request requires the exemptions in the settings and they are invalid.
pub(crate) fn build_verdict<'a>(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    mut findings: Vec<(Enforcement, RuleFinding<'a>)>,
    release: Release,
) -> Result<RuleResults<'a>, SettingsErrors> {
    let exempted = remove_exempted(request, settings, &mut findings)?;
    let with_enforcement = |wanted| {
        findings
            .iter()
            .filter(move |(enforcement, _)| *enforcement == wanted)
    };
    let denials: Vec<&RuleFinding<'a>> = with_enforcement(Enforcement::Deny)
        .map(|(_, f)| f)
        .collect();
    // Put the exemption first, because excess warnings are dropped.
    let exemption = exempted.iter().map(|exempted| exempted.warning.clone());
    // Also next to a denial with the same suggestion, because PolicyServer drops the denial in `monitor` mode.
    let warned = with_enforcement(Enforcement::Warn).map(|(_, finding)| finding.warning(release));
    let warnings = exemption.chain(warned);
    let mut warnings: Vec<String> = warnings
        .map(|warning| truncate(warning, MAX_WARNING))
        .collect();
    warnings.truncate(MAX_WARNINGS);
    warnings.extend(upstream_rules_warning(&denials));
    let by_enforcement = findings.iter().map(|(enforcement, f)| (*enforcement, f));
    let mut audit_annotations = annotations(request, &by_enforcement);
    audit_annotations.extend(exempted.map(|exempted| ("exempted", exempted.rules)));
    let decision = if denials.is_empty() {
        Decision::Allowed
    } else {
        let is_access_error = denials
            .iter()
            .any(|f| f.error().error_type().is_access_error());
        let denials_with_release = denials.iter().map(|finding| (*finding, release));
        Decision::Denied {
            code: if is_access_error { 403 } else { 422 },
            message: status_message(request, denials_with_release, is_access_error),
        }
    };
    let verdict = Verdict {
        decision,
        warnings,
        audit_annotations,
    };
    Ok(RuleResults { verdict, findings })
}

/// Merges differing verdicts of releases. The result is a denial if any release denies. Its message contains each finding as
/// formatted for the release that it is paired with.
///
/// `verdicts` are ordered from the oldest release to the newest. Their distinct warnings are kept, up to the limit.
#[cold]
pub(crate) fn merge_verdicts(
    request: &AdmissionRequest<'_>,
    verdicts: &[&Verdict],
    findings: &[(Enforcement, &RuleFinding<'_>, Release)],
) -> Verdict {
    let mut verdict = Verdict::allowed();
    let denials = findings
        .iter()
        .filter(|(enforcement, ..)| *enforcement == Enforcement::Deny)
        .map(|(_, finding, release)| (*finding, *release));
    let mut code = None;
    for per_release in verdicts {
        code = per_release.decision.code().or(code);
        for warning in &per_release.warnings {
            if !verdict.warnings.contains(warning) {
                verdict.warnings.push(warning.clone());
            }
        }
        for annotation in &per_release.audit_annotations {
            if annotation.0 == "exempted" {
                verdict.audit_annotations = vec![annotation.clone()];
            }
        }
    }
    // Same limit as for one release with a warning about the rule ids.
    verdict.warnings.truncate(MAX_WARNINGS + 1);
    if let Some(code) = code {
        let message = status_message(request, denials, code == 403);
        verdict.decision = Decision::Denied { code, message };
    }
    let findings = findings
        .iter()
        .map(|(enforcement, f, _)| (*enforcement, *f));
    let mut annotations = annotations(request, &findings);
    annotations.append(&mut verdict.audit_annotations);
    verdict.audit_annotations = annotations;
    verdict
}

/// Returns a warning with the ids of the upstream rules that denied. Clients show it next to the denial, whose message is
/// kube-apiserver's and has no rule ids.
fn upstream_rules_warning(denials: &[&RuleFinding<'_>]) -> Option<String> {
    let mut ids: Vec<&str> = Vec::new();
    for finding in denials.iter().filter(|finding| finding.is_upstream()) {
        if !ids.contains(&finding.rule().id()) {
            ids.push(finding.rule().id());
        }
    }
    let plural = if ids.len() > 1 { "s" } else { "" };
    let text = || format!("managed-by-policy: see rule{plural} {}", ids.join(", "));
    (!ids.is_empty()).then(|| truncate(text(), MAX_WARNING))
}

struct Exempted {
    /// Value of the audit annotation.
    rules: String,
    warning: String,
}

/// Removes denials of cluster-specific rules if the user is exempt.
fn remove_exempted(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    findings: &mut Vec<(Enforcement, RuleFinding<'_>)>,
) -> Result<Option<Exempted>, SettingsErrors> {
    let is_cluster_specific_denial = |(enforcement, finding): &(Enforcement, RuleFinding<'_>)| {
        *enforcement == Enforcement::Deny && finding.rule().is_cluster_specific()
    };
    if !findings.iter().any(is_cluster_specific_denial) {
        return Ok(None);
    }
    let Some(exemption) = settings.exemption(&request.user)? else {
        return Ok(None);
    };
    let (mut ids, mut rules) = (Vec::new(), Vec::new());
    for (_, finding) in findings
        .iter()
        .filter(|entry| is_cluster_specific_denial(entry))
    {
        ids.push(finding.rule().id());
        rules.push(rule_and_path(finding));
    }
    let ids = ids.join(", ");
    findings.retain(|entry| !is_cluster_specific_denial(entry));
    Ok(Some(Exempted {
        rules: truncate(rules.join(", "), MAX_ANNOTATION),
        warning: format!("{ids} would have denied this, but {exemption} is exempt"),
    }))
}

fn rule_and_path(finding: &RuleFinding<'_>) -> String {
    format!("{} {}", finding.rule().id(), finding.error().path())
}

const POD: ObjectType<'_> = ObjectType {
    group: "",
    kind: "Pod",
    plural: "pods",
};

/// Type of the request's object, as in kube-apiserver's errors.
struct ObjectType<'r> {
    group: &'r str,
    kind: &'r str,
    plural: &'r str,
}

impl<'r> ObjectType<'r> {
    fn from_request(request: &'r AdmissionRequest<'_>) -> Self {
        let (group, kind, plural) = match &request.target {
            RequestTarget::Change(kind, _) => (kind.group(), kind.name(), kind.plural()),
            RequestTarget::Pod(_) => return POD,
            RequestTarget::Skipped | RequestTarget::UnknownKind(_) => ("", "", ""),
        };
        Self {
            group,
            kind,
            plural,
        }
    }

    /// Appends the group, as in `jobs.batch`. The core group has no name.
    fn with_group(&self, name: &str) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{name}{dot}{}", self.group)
    }
}

/// Formats the message of `apierrors.NewInvalid`, or of `apierrors.NewForbidden` with the access errors only. Removes duplicates,
/// and puts several errors in brackets.
#[cold]
fn status_message<'f, 'a: 'f>(
    request: &AdmissionRequest<'_>,
    denials: impl Iterator<Item = (&'f RuleFinding<'a>, Release)>,
    is_access_error: bool,
) -> String {
    let target = ObjectType::from_request(request);
    let mut seen = BTreeSet::new();
    let mut list = String::new();
    for (finding, release) in denials {
        if finding.error().error_type().is_access_error() != is_access_error {
            continue;
        }
        let error = match finding.error().error_type() {
            ErrorType::UserForbidden => {
                finding.with_rule_id(&forbidden_message(request, &target, finding))
            }
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
    let (resource, reason) = if is_access_error {
        (target.with_group(target.plural), "forbidden")
    } else {
        (target.with_group(target.kind), "invalid")
    };
    format!("{resource} {name} is {reason}: {open}{list}{close}")
}

/// Formats the message of kube-apiserver's authorizer (`forbiddenMessage` in `k8s.io/apiserver`), with the detail of the error.
#[cold]
fn forbidden_message(
    request: &AdmissionRequest<'_>,
    target: &ObjectType<'_>,
    finding: &RuleFinding<'_>,
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

fn annotations<'f, 'a: 'f>(
    request: &AdmissionRequest<'_>,
    findings: &(impl Iterator<Item = (Enforcement, &'f RuleFinding<'a>)> + Clone),
) -> Vec<(&'static str, String)> {
    let mut annotations = Vec::new();
    if let RequestTarget::Change(kind, change) = &request.target {
        let reconciler = change.spec_object().reconciler(kind);
        annotations.push(("mode", reconciler.as_str().to_owned()));
        if let Reconciler::Delegated(controller) = reconciler {
            annotations.push(("controller", truncate(go::quote(controller), MAX_WARNING)));
        }
    }
    for (key, wanted) in [("denied", Enforcement::Deny), ("warned", Enforcement::Warn)] {
        let mut seen = BTreeSet::new();
        let mut list = String::new();
        for (_, finding) in findings
            .clone()
            .filter(|(enforcement, _)| *enforcement == wanted)
        {
            if list.len() > MAX_ANNOTATION {
                break;
            }
            if seen.insert((finding.rule().id(), finding.error().path())) {
                let separator = if list.is_empty() { "" } else { ", " };
                list.extend([separator, &rule_and_path(finding)]);
            }
        }
        if !list.is_empty() {
            annotations.push((key, truncate(list, MAX_ANNOTATION)));
        }
    }
    annotations
}

/// Quotes untrusted input, truncated to 40 bytes.
fn quote_truncated(word: &str) -> String {
    go::quote(&truncate(word.to_owned(), 40))
}

/// Truncates text to at most `max` bytes, ending in `...`.
fn truncate(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(go::prefix(&text, max.saturating_sub(3)).len());
        text.push_str("...");
    }
    text
}

#[cfg(feature = "lookups")]
impl Verdict {
    /// Adds a warning about a failed lookup, and its reason as an audit annotation. Does not deny.
    pub(crate) fn with_failed_lookup(
        mut self,
        id: &str,
        object: &str,
        error: &LookupError,
    ) -> Self {
        let reason = truncate(go::quote(&error.to_string()), MAX_WARNING);
        let annotation = truncate(format!("{object}: {reason}"), MAX_ANNOTATION);
        self.audit_annotations.push((LOOKUP_FAILED, annotation));
        self.with_warning(format!(
            "could not look up {object}; the queue was not checked [{id}]"
        ))
    }
}

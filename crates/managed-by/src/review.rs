//! Entry points: evaluate a request under the settings, for one or several releases, and return a [`Verdict`] or an [`Evaluation`].

use crate::catalog;
#[cfg(feature = "lookups")]
use crate::cluster::QueueCluster;
use crate::cluster::{Cluster, NoCluster};
use crate::decode::DecodeError;
use crate::description::Enforcement;
#[cfg(feature = "coverage")]
use crate::description::Rule;
use crate::evaluation::{Evaluation, MergedFinding, merge_findings};
use crate::finding::Finding;
#[cfg(feature = "manifests")]
use crate::kind::FieldLocation;
use crate::kind::Kind;
use crate::object::Object;
#[cfg(feature = "manifests")]
use crate::object::Outcome;
use crate::object::custom::NestedManagedBy;
use crate::object::pod::Pod;
use crate::release::{
    FINDING_SETS, Release, ReleaseSet, STATUS_FINDING_SETS, STATUS_VERDICT_SETS,
    TEMPLATE_FINDING_SETS, TEMPLATE_VERDICT_SETS,
};
use crate::request::{AdmissionRequest, Change, RequestTarget, UndecodedChange};
use crate::rule::Context;
#[cfg(feature = "lookups")]
use crate::rule::delegation::unusable_queue::{self, QueueLookupFailed};
use crate::rule::pods::{self, PodFindings};
use crate::settings::{Settings, SettingsErrors};
use crate::unchecked::{Unchecked, UncheckedReason};
use crate::verdict::{LOOKUP_FAILED, NOT_VALIDATED, Verdict, build_verdict};

/// Evaluates a request without access to a cluster.
pub fn review<'a>(request: &'a AdmissionRequest<'a>, settings: &'a Settings<'a>) -> Verdict<'a> {
    review_with_cluster(request, settings, &NoCluster)
}

/// Evaluates a request. Looks up objects in the cluster if the request and the settings require it.
pub fn review_with_cluster<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    cluster: &dyn Cluster,
) -> Verdict<'a> {
    let findings = match &request.target {
        RequestTarget::Skipped => return Verdict::allowed(),
        RequestTarget::UnknownKind(undecoded) => {
            return review_declared_kind(request, undecoded, settings, |request| {
                review(request, settings).into_owned()
            });
        }
        RequestTarget::Pod(pod) => return review_pod(request, pod, settings, cluster),
        RequestTarget::Change(kind, change) => run_rules(request, kind, change, settings),
    };
    to_verdict(request, settings, findings, settings.message_release())
}

/// Evaluates a pod, with a lookup of its Job if the settings require it.
fn review_pod<'a>(
    request: &'a AdmissionRequest<'a>,
    pod: &'a Pod<'a>,
    settings: &'a Settings<'a>,
    cluster: &dyn Cluster,
) -> Verdict<'a> {
    if !settings.validates_pods() {
        return Verdict::pod_skipped(settings.role());
    }
    match pods::run(request, pod, settings, cluster) {
        PodFindings::LookupFailed(failure) => {
            Verdict::lookup_failed(&failure, settings.on_lookup_failure())
        }
        PodFindings::Found(findings) => {
            to_verdict(request, settings, Ok(findings), settings.message_release())
        }
    }
}

/// Evaluates an object of a kind from `custom_kinds` with a function, or returns the verdict on another kind.
fn review_declared_kind(
    request: &AdmissionRequest<'_>,
    undecoded: &UndecodedChange<'_>,
    settings: &Settings<'_>,
    review: impl FnOnce(&AdmissionRequest<'_>) -> Verdict<'static>,
) -> Verdict<'static> {
    match with_declared_kind(request, undecoded, settings, review) {
        Ok(Some(Ok(verdict))) => verdict,
        Ok(Some(Err(malformed))) if request.source.is_request() => Verdict::malformed(&malformed),
        Ok(Some(Err(malformed))) => Verdict::malformed_object(&malformed),
        Ok(None) => Verdict::unknown_kind(&request.kind),
        Err(problems) => Verdict::misconfigured(&problems),
    }
}

/// Evaluates a request under each release of a set, without access to a cluster. If `releases` is [`None`], the setting
/// `kubernetes_version` applies, and the verdict is the same as from [`review`].
///
/// Intended for tools. Each release gets the verdict that it would get with the setting `kubernetes_version`. Releases that
/// share rules are evaluated once.
///
/// ```
/// use managed_by::{AdmissionRequest, ReleaseSet, Settings, evaluate};
///
/// let request = AdmissionRequest::from_json(
///     br#"{"operation": "UPDATE", "subResource": "status", "kind": {"group": "batch", "version": "v1", "kind": "Job"},
///          "oldObject": {"metadata": {"name": "pi"}, "spec": {}, "status": {"startTime": "2026-01-01T00:00:00Z"}},
///          "object": {"metadata": {"name": "pi"}, "spec": {},
///                     "status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True"}]}}}"#,
/// )?;
/// let settings = Settings::default();
/// let evaluation = evaluate(&request, &settings, Some(ReleaseSet::all()));
/// assert_eq!(evaluation.denied_by().to_string(), "1.31 to 1.37");
/// assert_eq!(evaluation.findings()[0].rule().id(), "job-status/failed-without-failure-target");
/// # Ok::<(), managed_by::DecodeError>(())
/// ```
pub fn evaluate<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    releases: Option<ReleaseSet>,
) -> Evaluation<'a> {
    evaluate_with_cluster(request, settings, releases, &NoCluster)
}

/// Evaluates a request like [`evaluate`], with lookups in the cluster like [`review_with_cluster`].
pub fn evaluate_with_cluster<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    releases: Option<ReleaseSet>,
    cluster: &dyn Cluster,
) -> Evaluation<'a> {
    let evaluation = evaluate_releases(request, settings, releases, cluster);
    let unchecked = unchecked(request, settings, evaluation.verdict());
    evaluation.with_unchecked(unchecked)
}

/// Returns the parts of a request that no rule evaluated. They don't depend on the release. [`review`] doesn't need them.
fn unchecked(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    verdict: &Verdict<'_>,
) -> Vec<Unchecked> {
    let has_annotation = |wanted| {
        verdict
            .audit_annotations
            .iter()
            .any(|(key, _)| *key == wanted)
    };
    let whole_object = |reason| Some(Unchecked::new("", reason));
    let found = match &request.target {
        RequestTarget::UnknownKind(_) => match settings.custom_kind(&request.kind) {
            Ok(None) => whole_object(settings.unsupported_reason(&request.kind)),
            // A declared kind has no templates, and invalid settings deny the request.
            Ok(Some(_)) | Err(_) => None,
        },
        RequestTarget::Pod(_) if has_annotation(NOT_VALIDATED) => {
            whole_object(UncheckedReason::PodsNotSelected)
        }
        RequestTarget::Pod(_) if has_annotation(LOOKUP_FAILED) => {
            whole_object(UncheckedReason::LookupFailed)
        }
        // The last entry is the first template that was not read.
        RequestTarget::Change(_, change) => {
            let custom = change.object().custom.as_deref();
            let last = custom.and_then(|custom| custom.nested.last());
            let skipped = last.filter(|last| last.value.is_none());
            let entry = |skipped: &NestedManagedBy<'_>| {
                Unchecked::new(&*skipped.path, UncheckedReason::TooManyTemplates)
            };
            #[cfg(feature = "manifests")]
            if let RequestTarget::Change(kind, change) = &request.target {
                let context = Context::new(request, kind, change, settings, Release::default());
                let undecided = crate::rule::manifest::undecided(&context).into_iter();
                let reason = UncheckedReason::OnlyApiServerValidates;
                let undecided = undecided.map(|path| Unchecked::new(path, reason));
                return skipped.map(entry).into_iter().chain(undecided).collect();
            }
            skipped.map(entry)
        }
        RequestTarget::Skipped | RequestTarget::Pod(_) => None,
    };
    found.into_iter().collect()
}

fn evaluate_releases<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    releases: Option<ReleaseSet>,
    cluster: &dyn Cluster,
) -> Evaluation<'a> {
    let Some(releases) = releases else {
        let verdict = review_with_cluster(request, settings, cluster);
        return Evaluation::from_verdict(verdict, settings.message_release());
    };
    if let RequestTarget::Change(kind, change) = &request.target {
        return evaluate_each(request, kind, change, settings, releases);
    }
    if let RequestTarget::UnknownKind(undecoded) = &request.target {
        let evaluation = with_declared_kind(request, undecoded, settings, |request| {
            evaluate_releases(request, settings, Some(releases), cluster).into_owned()
        });
        if let Ok(Some(Ok(evaluation))) = evaluation {
            return evaluation;
        }
    }
    // Verdicts depend on the release only for changes to workloads that can be decoded.
    Evaluation::uniform(
        review_with_cluster(request, settings, cluster),
        Some(releases),
    )
}

/// Evaluates a change under each release. Releases with the same rules are evaluated once.
fn evaluate_each<'a>(
    request: &'a AdmissionRequest<'a>,
    kind: &'a Kind<'a>,
    change: &'a Change<Object<'a>>,
    settings: &'a Settings<'a>,
    releases: ReleaseSet,
) -> Evaluation<'a> {
    let context = |release| Context::new(request, kind, change, settings, release);
    let newest = context(Release::default());
    let sets = if newest.status.is_some() {
        STATUS_FINDING_SETS
    } else if newest.validates_template() {
        TEMPLATE_FINDING_SETS
    } else {
        FINDING_SETS
    };
    let mut verdicts = Vec::new();
    for set in sets {
        let evaluated = set.intersection(releases);
        let Some(release) = evaluated.newest() else {
            continue;
        };
        let findings = catalog::run(&context(release), false);
        for release in evaluated.iter() {
            let verdict = to_verdict(request, settings, findings.clone(), release);
            verdicts.push((release, verdict));
        }
    }
    verdicts.sort_by_key(|(release, _)| *release);
    Evaluation::from_release_verdicts(request, verdicts)
}

/// Calls a function with the kind of the request's object, if the library supports the kind or `custom_kinds` declares it.
///
/// # Errors
/// Fails if the settings declare the kind, but the declaration is invalid: see [`Settings::from_json`].
pub fn with_kind<T>(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    read: impl FnOnce(&Kind<'_>) -> T,
) -> Result<Option<T>, SettingsErrors> {
    Ok(match &request.target {
        RequestTarget::Change(kind, _) => Some(read(kind)),
        RequestTarget::UnknownKind(_) => settings
            .custom_kind(&request.kind)?
            .map(|custom_kind| custom_kind.with_kind(&request.kind.version, read)),
        RequestTarget::Skipped | RequestTarget::Pod(_) => None,
    })
}

/// Returns the error in an object of a kind from `custom_kinds`, for tools that show where it is. Returns [`None`] for other kinds, which
/// are decoded with the request, and for requests in JSON, which [`review`] denies as malformed.
#[cfg(feature = "manifests")]
pub fn malformed_object(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
) -> Option<DecodeError> {
    let RequestTarget::UnknownKind(undecoded) = &request.target else {
        return None;
    };
    if request.source.is_request() {
        return None;
    }
    let decoded = with_declared_kind(request, undecoded, settings, |_| ());
    decoded.ok()??.err()
}

/// State of a stored workload, for tools.
#[cfg(feature = "manifests")]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkloadState {
    /// Controller that the object is delegated to, or [`None`] for the built-in controller.
    pub delegated_to: Option<String>,
    /// Value that selects the built-in controller of the kind, if it has one.
    pub reserved_value: Option<String>,
    /// Outcome in the status, or [`None`] if the workload has not finished.
    pub outcome: Option<Outcome>,
}

/// Returns the state of the request's object. Returns [`None`] for an unknown kind and for a kind that contains only a template of a
/// workload, such as CronJob.
///
/// # Errors
/// Fails if the settings declare the kind, but the declaration is invalid: see [`Settings::from_json`].
#[cfg(feature = "manifests")]
pub fn workload_state(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
) -> Result<Option<WorkloadState>, SettingsErrors> {
    match &request.target {
        RequestTarget::Change(kind, change) => {
            let is_workload = kind.field_location() == FieldLocation::Workload;
            Ok(is_workload.then(|| WorkloadState::new(kind, change.object())))
        }
        RequestTarget::UnknownKind(undecoded) => {
            let state = with_declared_kind(request, undecoded, settings, |request| {
                workload_state(request, settings)
            })?;
            state.and_then(Result::ok).unwrap_or(Ok(None))
        }
        RequestTarget::Skipped | RequestTarget::Pod(_) => Ok(None),
    }
}

#[cfg(feature = "manifests")]
impl WorkloadState {
    fn new(kind: &Kind<'_>, object: &Object<'_>) -> Self {
        let delegated_to = object.reconciler(kind).controller();
        Self {
            delegated_to: delegated_to.map(str::to_owned),
            reserved_value: kind.reserved_value().map(str::to_owned),
            outcome: object.outcome(),
        }
    }
}

/// Returns the rules in conformance reports that apply to the request's kind, each with true if the request exercises it: the rule
/// was evaluated, and the request could have violated it. A request that violates a rule always exercises it. Empty for unknown
/// kinds.
///
/// # Errors
/// Fails if the settings declare the kind, but the declaration is invalid: see [`Settings::from_json`].
#[cfg(feature = "coverage")]
pub fn exercised_rules(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
) -> Result<Vec<(&'static Rule, bool)>, SettingsErrors> {
    match &request.target {
        RequestTarget::Change(kind, change) => {
            let release = Release::default();
            let context = Context::new(request, kind, change, settings, release);
            Ok(catalog::exercised_rules(&context))
        }
        RequestTarget::UnknownKind(undecoded) => {
            let rules = with_declared_kind(request, undecoded, settings, |request| {
                exercised_rules(request, settings)
            })?;
            rules.and_then(Result::ok).unwrap_or(Ok(Vec::new()))
        }
        RequestTarget::Skipped | RequestTarget::Pod(_) => Ok(Vec::new()),
    }
}

/// Calls a function with the request about an object of a kind from `custom_kinds`, or returns the error in the object. Returns
/// [`None`] if the settings don't declare the kind.
///
/// # Errors
/// Fails if the declaration is invalid.
#[inline(never)]
fn with_declared_kind<T>(
    request: &AdmissionRequest<'_>,
    undecoded: &UndecodedChange<'_>,
    settings: &Settings<'_>,
    evaluate: impl FnOnce(&AdmissionRequest<'_>) -> T,
) -> Result<Option<Result<T, DecodeError>>, SettingsErrors> {
    let declared = settings.custom_kind(&request.kind)?;
    Ok(declared.map(|declared| {
        declared.with_kind(&request.kind.version, |kind| {
            let request = request.with_kind(undecoded, kind)?;
            Ok(evaluate(&request))
        })
    }))
}

/// Returns the findings of all rules for a change.
fn run_rules<'a>(
    request: &'a AdmissionRequest<'a>,
    kind: &'a Kind<'a>,
    change: &'a Change<Object<'a>>,
    settings: &'a Settings<'a>,
) -> Result<Vec<(Enforcement, Finding<'a>)>, SettingsErrors> {
    let context = |release| Context::new(request, kind, change, settings, release);
    match settings.kubernetes_version() {
        Some(release) => catalog::run(&context(release), false),
        None => run_on_all_releases(context),
    }
}

fn to_verdict<'a>(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    findings: Result<Vec<(Enforcement, Finding<'a>)>, SettingsErrors>,
    release: Release,
) -> Verdict<'a> {
    findings
        .and_then(|findings| build_verdict(request, settings, findings, release))
        .unwrap_or_else(|problems| Verdict::misconfigured(&problems))
}

/// Returns the findings if `kubernetes_version` is not set. A version-dependent kube-apiserver check denies a request that all
/// releases deny, and warns if some release accepts it.
fn run_on_all_releases<'a>(
    context: impl Fn(Release) -> Context<'a>,
) -> Result<Vec<(Enforcement, Finding<'a>)>, SettingsErrors> {
    let newest = context(Release::default());
    let findings = catalog::run(&newest, false)?;
    let sets = if newest.status.is_some() {
        STATUS_VERDICT_SETS
    } else if newest.validates_template() {
        TEMPLATE_VERDICT_SETS
    } else {
        return Ok(findings);
    };
    let is_denial = |(enforcement, finding): &(Enforcement, Finding<'_>)| {
        *enforcement == Enforcement::Deny && finding.is_upstream()
    };
    let is_unconditional_denial = |found: &(Enforcement, Finding<'_>)| {
        is_denial(found) && !found.1.rule().is_version_dependent()
    };
    if findings.iter().any(is_unconditional_denial) {
        return Ok(findings);
    }
    // The last set contains the newest release.
    let mut findings_by_set = vec![findings];
    for set in sets.iter().rev().skip(1) {
        let release = set.newest().unwrap_or_default();
        findings_by_set.push(catalog::run(&context(release), true)?);
    }
    let has_denial = |findings: &Vec<(Enforcement, Finding<'_>)>| findings.iter().any(is_denial);
    let is_unanimous = findings_by_set.iter().all(has_denial);
    let is_never_denied = !findings_by_set.iter().any(has_denial);
    if is_unanimous || is_never_denied {
        return Ok(findings_by_set.swap_remove(0));
    }
    let sets = sets.iter().rev().copied();
    let findings_by_set: Vec<_> = sets.zip(findings_by_set.iter().map(|f| &**f)).collect();
    Ok(warn_on_disagreement(&findings_by_set))
}

/// Merges findings of releases that disagree. Findings of version-dependent kube-apiserver checks become warnings with their
/// releases.
#[cold]
fn warn_on_disagreement<'a>(
    findings_by_set: &[(ReleaseSet, &[(Enforcement, Finding<'a>)])],
) -> Vec<(Enforcement, Finding<'a>)> {
    let warn = |found: &MergedFinding<'a>| {
        let finding = found.finding().clone();
        if !finding.is_upstream() || !finding.rule().is_version_dependent() {
            return (found.enforcement(), finding);
        }
        (Enforcement::Warn, finding.with_releases(found.releases()))
    };
    merge_findings(findings_by_set).iter().map(warn).collect()
}

/// Evaluates a request with the rules that look up objects in the cluster: a pod like [`review_with_cluster`], and the queue of a new
/// workload that is delegated to `MultiKueue`, with at most four lookups. Never denies a workload, not even if a lookup fails.
///
/// Intended for a policy next to one that runs the other rules with [`review`].
#[cfg(feature = "lookups")]
pub fn review_lookups<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    cluster: &dyn QueueCluster,
) -> Verdict<'a> {
    let (kind, change) = match &request.target {
        RequestTarget::Change(kind, change) => (kind, change),
        RequestTarget::UnknownKind(undecoded) => {
            return review_declared_kind(request, undecoded, settings, |request| {
                review_lookups(request, settings, cluster).into_owned()
            });
        }
        RequestTarget::Pod(pod) => return review_pod(request, pod, settings, cluster),
        RequestTarget::Skipped => return Verdict::allowed(),
    };
    let release = settings.message_release();
    let context = Context::new(request, kind, change, settings, release);
    let (findings, failure) = match unusable_queue::check(&context, cluster) {
        Ok(finding) => (finding.map(|finding| (Enforcement::Warn, finding)), None),
        Err(failure) => (None, Some(failure)),
    };
    let findings = Ok(findings.into_iter().collect());
    let verdict = to_verdict(request, settings, findings, release);
    match failure {
        Some(QueueLookupFailed { object, error }) => {
            verdict.with_failed_lookup(unusable_queue::RULE.id, &object, &error)
        }
        None => verdict,
    }
}

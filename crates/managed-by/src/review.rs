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
use crate::finding::RuleFinding;
#[cfg(feature = "manifests")]
use crate::kind::FieldLocation;
use crate::kind::Kind;
use crate::object::Object;
#[cfg(feature = "manifests")]
use crate::object::Outcome;
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
use crate::verdict::{LOOKUP_FAILED, NOT_VALIDATED, RuleResults, Verdict, build_verdict};

/// Request with its target under the settings: the parts that all operations on a request share. [`resolve`] creates it.
#[derive(Debug)]
pub struct ResolvedRequest<'r> {
    request: &'r AdmissionRequest<'r>,
    settings: &'r Settings<'r>,
    target: Target<'r>,
}

/// Part of a request that the rules evaluate, or the reason why they can't.
#[derive(Debug)]
enum Target<'r> {
    /// No rule applies to the operation or subresource.
    Skipped,
    Pod(&'r Pod<'r>),
    /// A change to an object of a kind that the library supports or `custom_kinds` declares.
    Change(&'r Kind<'r>, &'r Change<Object<'r>>),
    /// The library does not support the kind, and the settings don't declare it.
    Unsupported,
    /// The object is of a declared kind, and has a field of the wrong type.
    Malformed(DecodeError),
    /// The declaration of the kind is invalid.
    Misconfigured(SettingsErrors),
}

/// Resolves the target of a request under the settings, and calls a function with it. An object of a kind from `custom_kinds` is decoded
/// here, others with the request.
pub fn resolve<T>(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    f: impl FnOnce(&ResolvedRequest<'_>) -> T,
) -> T {
    let target = match &request.target {
        RequestTarget::Skipped => Target::Skipped,
        RequestTarget::Pod(pod) => Target::Pod(pod),
        RequestTarget::Change(kind, change) => Target::Change(kind, change),
        RequestTarget::UnknownKind(undecoded) => {
            return resolve_declared(request, undecoded, settings, f);
        }
    };
    f(&ResolvedRequest {
        request,
        settings,
        target,
    })
}

#[inline(never)]
fn resolve_declared<T>(
    request: &AdmissionRequest<'_>,
    undecoded: &UndecodedChange<'_>,
    settings: &Settings<'_>,
    f: impl FnOnce(&ResolvedRequest<'_>) -> T,
) -> T {
    let unresolved = |target| ResolvedRequest {
        request,
        settings,
        target,
    };
    let declared = match settings.custom_kind(&request.kind) {
        Ok(Some(declared)) => declared,
        Ok(None) => return f(&unresolved(Target::Unsupported)),
        Err(problems) => return f(&unresolved(Target::Misconfigured(problems))),
    };
    declared.with_kind(&request.kind.version, |kind| {
        match request.with_kind(undecoded, kind) {
            Ok(request) => resolve(&request, settings, f),
            Err(malformed) => f(&unresolved(Target::Malformed(malformed))),
        }
    })
}

/// Evaluates a request without access to a cluster.
pub fn review(request: &AdmissionRequest<'_>, settings: &Settings<'_>) -> Verdict {
    resolve(request, settings, |resolved| resolved.review(&NoCluster))
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
/// assert_eq!(evaluation.findings[0].rule.id(), "job-status/failed-without-failure-target");
/// # Ok::<(), managed_by::DecodeError>(())
/// ```
pub fn evaluate(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    releases: Option<ReleaseSet>,
) -> Evaluation {
    resolve(request, settings, |resolved| {
        resolved.evaluate(releases, &NoCluster)
    })
}

impl ResolvedRequest<'_> {
    /// Evaluates the request. Looks up objects in the cluster if the request and the settings require it.
    pub fn review(&self, cluster: &dyn Cluster) -> Verdict {
        self.results(cluster).verdict
    }

    fn results(&self, cluster: &dyn Cluster) -> RuleResults<'_> {
        match &self.target {
            Target::Change(kind, change) => {
                let findings = self.run_rules(kind, change);
                self.build_results(findings, self.settings.message_release())
            }
            _ => self.results_without_change(cluster),
        }
    }

    /// Returns the results for a pod, with a lookup of its Job if the settings require it, and for a request without a change to evaluate.
    fn results_without_change(&self, cluster: &dyn Cluster) -> RuleResults<'_> {
        let verdict = match &self.target {
            Target::Skipped | Target::Change(..) => Verdict::allowed(),
            Target::Pod(_) if !self.settings.validates_pods() => {
                Verdict::pod_skipped(self.settings.role())
            }
            Target::Pod(pod) => match pods::run(self.request, pod, self.settings, cluster) {
                PodFindings::LookupFailed(failure) => {
                    Verdict::lookup_failed(&failure, self.settings.on_lookup_failure())
                }
                PodFindings::Found(findings) => {
                    return self.build_results(Ok(findings), self.settings.message_release());
                }
            },
            Target::Unsupported => Verdict::unknown_kind(&self.request.kind),
            Target::Malformed(malformed) if self.request.source.is_request() => {
                Verdict::malformed(malformed)
            }
            Target::Malformed(malformed) => Verdict::malformed_object(malformed),
            Target::Misconfigured(problems) => Verdict::misconfigured(problems),
        };
        verdict.into()
    }

    /// Evaluates the request like [`evaluate`], with lookups in the cluster like [`ResolvedRequest::review`].
    pub fn evaluate(&self, releases: Option<ReleaseSet>, cluster: &dyn Cluster) -> Evaluation {
        let evaluation =
            if let (Some(releases), Target::Change(kind, change)) = (releases, &self.target) {
                self.evaluate_each(kind, change, releases)
            } else {
                // Verdicts depend on the release only for changes to workloads that can be decoded.
                let release = self.settings.message_release();
                Evaluation::from_results(self.results(cluster), release, releases)
            };
        let unchecked = self.unchecked(&evaluation);
        Evaluation {
            unchecked,
            ..evaluation
        }
    }

    /// Evaluates a change under each release. Releases with the same rules are evaluated once.
    fn evaluate_each(
        &self,
        kind: &Kind<'_>,
        change: &Change<Object<'_>>,
        releases: ReleaseSet,
    ) -> Evaluation {
        let context = |release| self.context(kind, change, release);
        let newest = context(Release::default());
        let sets = if newest.status.is_some() {
            STATUS_FINDING_SETS
        } else if newest.validates_template() {
            TEMPLATE_FINDING_SETS
        } else {
            FINDING_SETS
        };
        let mut results = Vec::new();
        for set in sets {
            let evaluated = set.intersection(releases);
            let Some(release) = evaluated.newest() else {
                continue;
            };
            let findings = catalog::run(&context(release), false);
            for release in evaluated.iter() {
                results.push((release, self.build_results(findings.clone(), release)));
            }
        }
        results.sort_by_key(|(release, _)| *release);
        Evaluation::from_release_results(self.request, results)
    }

    /// Returns the parts of the request that no rule evaluated. They don't depend on the release.
    fn unchecked(&self, evaluation: &Evaluation) -> Vec<Unchecked> {
        let has_annotation = |wanted| {
            let mut annotations = evaluation.verdict.audit_annotations.iter();
            annotations.any(|(key, _)| *key == wanted)
        };
        let whole_object = |reason| Some(Unchecked::new("", reason));
        let unchecked = match &self.target {
            Target::Unsupported => {
                whole_object(self.settings.unsupported_reason(&self.request.kind))
            }
            Target::Pod(_) if has_annotation(NOT_VALIDATED) => {
                whole_object(UncheckedReason::PodsNotSelected)
            }
            Target::Pod(_) if has_annotation(LOOKUP_FAILED) => {
                whole_object(UncheckedReason::LookupFailed)
            }
            Target::Change(_, change) => first_unread_template(change),
            // The request is denied if the object or the settings are malformed.
            Target::Skipped | Target::Pod(_) | Target::Malformed(_) | Target::Misconfigured(_) => {
                None
            }
        };
        let unchecked = unchecked.into_iter();
        #[cfg(feature = "manifests")]
        let unchecked = unchecked.chain(self.undecided());
        unchecked.collect()
    }

    /// Returns the parts of a changed manifest that only the API server validates.
    #[cfg(feature = "manifests")]
    fn undecided(&self) -> impl Iterator<Item = Unchecked> {
        let paths = match &self.target {
            Target::Change(kind, change) => {
                let context = self.context(kind, change, Release::default());
                crate::rule::manifest::undecided(&context)
            }
            _ => Vec::new(),
        };
        let reason = UncheckedReason::OnlyApiServerValidates;
        let paths = paths.into_iter();
        paths.map(move |path| Unchecked::new(path, reason))
    }

    /// Returns the kind of the object, if the library supports it or `custom_kinds` declares it.
    pub fn kind(&self) -> Option<&Kind<'_>> {
        match self.target {
            Target::Change(kind, _) => Some(kind),
            _ => None,
        }
    }

    /// Returns the error in an object of a kind from `custom_kinds` that is not part of an admission request, for tools that show where
    /// it is. A request in JSON is denied as malformed.
    pub fn malformed_object(&self) -> Option<&DecodeError> {
        match &self.target {
            Target::Malformed(malformed) if !self.request.source.is_request() => Some(malformed),
            _ => None,
        }
    }

    /// Returns the state of the object. Returns [`None`] if it can't be evaluated, and for a kind that contains only a template of a
    /// workload, such as CronJob.
    #[cfg(feature = "manifests")]
    pub fn workload_state(&self) -> Option<WorkloadState> {
        match &self.target {
            Target::Change(kind, change) if kind.field_location() == FieldLocation::Workload => {
                Some(WorkloadState::new(kind, change.object()))
            }
            _ => None,
        }
    }

    /// Returns the rules in conformance reports that apply to the request's kind, each with true if the request exercises it: the rule
    /// was evaluated, and the request could have violated it. A request that violates a rule always exercises it. Empty if there is no
    /// change to evaluate.
    #[cfg(feature = "coverage")]
    pub fn exercised_rules(&self) -> Vec<(&'static Rule, bool)> {
        match &self.target {
            Target::Change(kind, change) => {
                catalog::exercised_rules(&self.context(kind, change, Release::default()))
            }
            _ => Vec::new(),
        }
    }

    /// Evaluates the request with the rules that look up objects in the cluster: a pod like [`ResolvedRequest::review`], and the queue of
    /// a new workload that is delegated to `MultiKueue`, with at most four lookups. Never denies a workload, not even if a lookup fails.
    ///
    /// Intended for a policy next to one that runs the other rules.
    #[cfg(feature = "lookups")]
    pub fn review_lookups(&self, cluster: &dyn QueueCluster) -> Verdict {
        let Target::Change(kind, change) = &self.target else {
            return self.results_without_change(cluster).verdict;
        };
        let release = self.settings.message_release();
        let context = self.context(kind, change, release);
        let (findings, failure) = match unusable_queue::check(&context, cluster) {
            Ok(finding) => (finding.map(|finding| (Enforcement::Warn, finding)), None),
            Err(failure) => (None, Some(failure)),
        };
        let findings = Ok(findings.into_iter().collect());
        let verdict = self.build_results(findings, release).verdict;
        match failure {
            Some(QueueLookupFailed { object, error }) => {
                verdict.with_failed_lookup(unusable_queue::RULE.id, &object, &error)
            }
            None => verdict,
        }
    }

    fn context<'c>(
        &'c self,
        kind: &'c Kind<'c>,
        change: &'c Change<Object<'c>>,
        release: Release,
    ) -> Context<'c> {
        Context::new(self.request, kind, change, self.settings, release)
    }

    fn run_rules<'c>(
        &'c self,
        kind: &'c Kind<'c>,
        change: &'c Change<Object<'c>>,
    ) -> Result<Vec<(Enforcement, RuleFinding<'c>)>, SettingsErrors> {
        let context = |release| self.context(kind, change, release);
        match self.settings.kubernetes_version() {
            Some(release) => catalog::run(&context(release), false),
            None => run_on_all_releases(context),
        }
    }

    fn build_results<'c>(
        &self,
        findings: Result<Vec<(Enforcement, RuleFinding<'c>)>, SettingsErrors>,
        release: Release,
    ) -> RuleResults<'c> {
        findings
            .and_then(|findings| build_verdict(self.request, self.settings, findings, release))
            .unwrap_or_else(|problems| Verdict::misconfigured(&problems).into())
    }
}

/// Returns the first template that was not read: the last entry, without a value.
fn first_unread_template(change: &Change<Object<'_>>) -> Option<Unchecked> {
    let last = change.object().custom.as_deref()?.nested.last()?;
    let is_unread = last.value.is_none();
    is_unread.then(|| Unchecked::new(&*last.path, UncheckedReason::TooManyTemplates))
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
    /// Path of the field that suspends the workload. Every kind that has one has it next to `managedBy`.
    pub suspend_path: String,
}

#[cfg(feature = "manifests")]
impl WorkloadState {
    fn new(kind: &Kind<'_>, object: &Object<'_>) -> Self {
        let delegated_to = object.reconciler(kind).controller();
        Self {
            delegated_to: delegated_to.map(str::to_owned),
            reserved_value: kind.reserved_value().map(str::to_owned),
            outcome: object.outcome(),
            suspend_path: match kind.managed_by_path().rsplit_once('.') {
                Some((parent, _)) => format!("{parent}.suspend"),
                None => "suspend".to_owned(),
            },
        }
    }
}

/// Returns the findings if `kubernetes_version` is not set. A version-dependent kube-apiserver check denies a request that all
/// releases deny, and warns if some release accepts it.
fn run_on_all_releases<'a>(
    context: impl Fn(Release) -> Context<'a>,
) -> Result<Vec<(Enforcement, RuleFinding<'a>)>, SettingsErrors> {
    let newest = context(Release::default());
    let findings = catalog::run(&newest, false)?;
    let sets = if newest.status.is_some() {
        STATUS_VERDICT_SETS
    } else if newest.validates_template() {
        TEMPLATE_VERDICT_SETS
    } else {
        return Ok(findings);
    };
    let is_denial = |(enforcement, finding): &(Enforcement, RuleFinding<'_>)| {
        *enforcement == Enforcement::Deny && finding.is_upstream()
    };
    let is_unconditional_denial = |found: &(Enforcement, RuleFinding<'_>)| {
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
    let has_denial =
        |findings: &Vec<(Enforcement, RuleFinding<'_>)>| findings.iter().any(is_denial);
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
    findings_by_set: &[(ReleaseSet, &[(Enforcement, RuleFinding<'a>)])],
) -> Vec<(Enforcement, RuleFinding<'a>)> {
    let warn = |found: &MergedFinding<'a>| {
        let finding = found.newest().clone();
        if !finding.is_upstream() || !finding.rule().is_version_dependent() {
            return (found.enforcement, finding);
        }
        (Enforcement::Warn, finding.with_releases(found.releases()))
    };
    merge_findings(findings_by_set).iter().map(warn).collect()
}

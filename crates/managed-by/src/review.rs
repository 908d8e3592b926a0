//! The one way through the library: request to rules to answer.

use crate::catalogue;
use crate::cluster::{Cluster, Offline};
use crate::description::Enforcement;
#[cfg(feature = "docs")]
use crate::description::Rule;
use crate::finding::Finding;
use crate::judgement::{JudgedFinding, Judgement, merged};
use crate::kind::Kind;
use crate::object::Object;
use crate::release::{Release, ReleaseSet};
use crate::request::{AdmissionRequest, Change, Subject, UnreadChange};
use crate::rule::Context;
use crate::rule::pods::{self, PodFindings};
use crate::settings::{CustomKind, Problems, Settings};
use crate::verdict::{Verdict, answer};

/// Judges a request, without a cluster to ask.
pub fn review<'a>(request: &'a AdmissionRequest<'a>, settings: &'a Settings<'a>) -> Verdict<'a> {
    review_in(request, settings, &Offline)
}

/// Judges a request. Of the cluster it asks what the request and the settings call for.
pub fn review_in<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    cluster: &dyn Cluster,
) -> Verdict<'a> {
    let findings = match &request.subject {
        Subject::NotJudged => return Verdict::accepted(),
        Subject::UnknownKind(unread) => {
            return match settings.custom_kind(&unread.kind) {
                Ok(Some(declared)) => review_declared(request, unread, &declared, settings),
                Ok(None) => Verdict::unknown_kind(&unread.kind),
                Err(problems) => Verdict::misconfigured(&problems),
            };
        }
        Subject::Pod(_) if !settings.judges_pods() => {
            return Verdict::pod_not_judged(settings.role());
        }
        Subject::Pod(pod) => match pods::run(request, pod, settings, cluster) {
            PodFindings::Unanswered(failure) => {
                return Verdict::lookup_failed(&failure, settings.on_lookup_failure());
            }
            PodFindings::Found(findings) => Ok(findings),
        },
        Subject::Change(kind, change) => run(request, kind, change, settings),
    };
    answered(request, settings, findings, settings.text_release())
}

/// Judges a request by the rules of each release of a set, without a cluster to ask. With no set, the settings choose: the answer
/// is the one of [`review`].
///
/// This is the way for tools: each release is answered as with the setting `kubernetes_version`, and releases that share rules
/// are asked once.
///
/// ```
/// use managed_by::{AdmissionRequest, ReleaseSet, Settings, judge};
///
/// let request = AdmissionRequest::from_json(
///     br#"{"operation": "UPDATE", "subResource": "status", "kind": {"group": "batch", "version": "v1", "kind": "Job"},
///          "oldObject": {"metadata": {"name": "pi"}, "spec": {}, "status": {"startTime": "2026-01-01T00:00:00Z"}},
///          "object": {"metadata": {"name": "pi"}, "spec": {},
///                     "status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True"}]}}}"#,
/// )?;
/// let settings = Settings::default();
/// let judgement = judge(&request, &settings, Some(ReleaseSet::all()));
/// assert_eq!(judgement.denied_by().to_string(), "1.31 to 1.37");
/// assert_eq!(judgement.findings()[0].rule().id(), "job-status/failed-without-failure-target");
/// # Ok::<(), managed_by::Malformed>(())
/// ```
pub fn judge<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    releases: Option<ReleaseSet>,
) -> Judgement<'a> {
    judge_in(request, settings, releases, &Offline)
}

/// As [`judge`], and asks the cluster as [`review_in`] does.
pub fn judge_in<'a>(
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings<'a>,
    releases: Option<ReleaseSet>,
    cluster: &dyn Cluster,
) -> Judgement<'a> {
    let Some(releases) = releases else {
        let verdict = review_in(request, settings, cluster);
        return Judgement::of_settings(verdict, settings.text_release());
    };
    if let Subject::Change(kind, change) = &request.subject {
        return ask_each(request, kind, change, settings, releases);
    }
    if let Subject::UnknownKind(unread) = &request.subject
        && let Ok(Some(declared)) = settings.custom_kind(&unread.kind)
    {
        return declared.with_kind(&unread.kind.version, |kind| {
            request.of_kind(unread, kind).map_or_else(
                |malformed| Judgement::of_all(Verdict::malformed(&malformed), Some(releases)),
                |request| judge_in(&request, settings, Some(releases), cluster).into_owned(),
            )
        });
    }
    // Releases differ only about changes of workloads, so every other request gets one answer.
    Judgement::of_all(review_in(request, settings, cluster), Some(releases))
}

/// Asks each release about a change. Releases with the same rules are asked only once.
fn ask_each<'a>(
    request: &'a AdmissionRequest<'a>,
    kind: &'a Kind<'a>,
    change: &'a Change<Object<'a>>,
    settings: &'a Settings<'a>,
    releases: ReleaseSet,
) -> Judgement<'a> {
    let context = |release| Context::new(request, kind, change, settings, release);
    let newest = context(Release::default());
    let runs = if newest.status.is_some() {
        Release::STATUS_FINDINGS
    } else if newest.judges_template() {
        Release::TEMPLATE_FINDINGS
    } else {
        Release::FINDINGS
    };
    let mut verdicts = Vec::new();
    for last in runs {
        let asked = last.run(runs).intersection(releases);
        if asked.is_empty() {
            continue;
        }
        let findings = catalogue::run(&context(*last), false);
        for release in asked.iter() {
            let verdict = answered(request, settings, findings.clone(), release);
            verdicts.push((release.into(), verdict));
        }
    }
    Judgement::of_releases(request, verdicts)
}

/// Hands out the kind whose object a request is about, if it is judged: one that the library knows, or that the settings declare.
///
/// # Errors
/// If the settings declare the kind badly, as [`Settings::from_json`] finds it.
pub fn with_kind<T>(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    read: impl FnOnce(&Kind<'_>) -> T,
) -> Result<Option<T>, Problems> {
    Ok(match &request.subject {
        Subject::Change(kind, _) => Some(read(kind)),
        Subject::UnknownKind(unread) => settings
            .custom_kind(&unread.kind)?
            .map(|declared| declared.with_kind(&unread.kind.version, read)),
        Subject::NotJudged | Subject::Pod(_) => None,
    })
}

/// The rules about what a controller writes that judge objects of a request's kind, each with whether the request exercises it:
/// the rule looked at it, and it could have broken the rule. Whatever such a rule denies, exercises it. Empty if no kind is
/// judged.
///
/// # Errors
/// If the settings declare the kind badly, as [`Settings::from_json`] finds it.
#[cfg(feature = "docs")]
pub fn exercised(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
) -> Result<Vec<(&'static Rule, bool)>, Problems> {
    match &request.subject {
        Subject::Change(kind, change) => {
            let release = Release::default();
            let context = Context::new(request, kind, change, settings, release);
            Ok(catalogue::exercised(&context))
        }
        Subject::UnknownKind(unread) => {
            let Some(declared) = settings.custom_kind(&unread.kind)? else {
                return Ok(Vec::new());
            };
            declared.with_kind(&unread.kind.version, |kind| {
                let request = request.of_kind(unread, kind);
                request.map_or_else(|_| Ok(Vec::new()), |request| exercised(&request, settings))
            })
        }
        Subject::NotJudged | Subject::Pod(_) => Ok(Vec::new()),
    }
}

/// Judges a change of an object of a kind that the settings declare.
#[inline(never)]
fn review_declared(
    request: &AdmissionRequest<'_>,
    unread: &UnreadChange<'_>,
    declared: &CustomKind<'_>,
    settings: &Settings<'_>,
) -> Verdict<'static> {
    declared.with_kind(&unread.kind.version, |kind| {
        request.of_kind(unread, kind).map_or_else(
            |malformed| Verdict::malformed(&malformed),
            |request| review(&request, settings).into_owned(),
        )
    })
}

/// What the rules find in a change.
fn run<'a>(
    request: &'a AdmissionRequest<'a>,
    kind: &'a Kind<'a>,
    change: &'a Change<Object<'a>>,
    settings: &'a Settings<'a>,
) -> Result<Vec<(Enforcement, Finding<'a>)>, Problems> {
    let context = |release| Context::new(request, kind, change, settings, release);
    match settings.kubernetes_version() {
        Some(release) => catalogue::run(&context(release), false),
        None => run_on_all_releases(context),
    }
}

fn answered<'a>(
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    findings: Result<Vec<(Enforcement, Finding<'a>)>, Problems>,
    release: Release,
) -> Verdict<'a> {
    findings
        .and_then(|findings| answer(request, settings, findings, release))
        .unwrap_or_else(|problems| Verdict::misconfigured(&problems))
}

/// What the rules find where the settings choose no release: kube-apiserver's checks on which the releases disagree deny what
/// all releases deny, and warn where some release accepts.
fn run_on_all_releases<'a>(
    context: impl Fn(Release) -> Context<'a>,
) -> Result<Vec<(Enforcement, Finding<'a>)>, Problems> {
    let newest = context(Release::default());
    let findings = catalogue::run(&newest, false)?;
    let verdicts = if newest.status.is_some() {
        Release::VERDICTS
    } else if newest.judges_template() {
        Release::TEMPLATE_VERDICTS
    } else {
        return Ok(findings);
    };
    let is_denial = |(enforcement, finding): &(Enforcement, Finding<'_>)| {
        *enforcement == Enforcement::Deny && finding.is_upstream()
    };
    let is_agreed =
        |found: &(Enforcement, Finding<'_>)| is_denial(found) && !found.1.rule().is_disputed();
    if findings.iter().any(is_agreed) {
        return Ok(findings);
    }
    let mut opinions = vec![(Release::default(), findings)];
    for &release in verdicts.iter().rev().skip(1) {
        let findings = catalogue::run(&context(release), true)?;
        opinions.push((release, findings));
    }
    let denies =
        |(_, findings): &(Release, Vec<(Enforcement, Finding<'_>)>)| findings.iter().any(is_denial);
    let is_unanimous = opinions.iter().all(denies);
    let is_undisputed = !opinions.iter().any(denies);
    if is_unanimous || is_undisputed {
        return Ok(opinions.swap_remove(0).1);
    }
    Ok(disputed(&opinions, verdicts))
}

/// What some releases find and others do not, each thing once, as a warning that says which do.
#[cold]
fn disputed<'a>(
    opinions: &[(Release, Vec<(Enforcement, Finding<'a>)>)],
    verdicts: &[Release],
) -> Vec<(Enforcement, Finding<'a>)> {
    let opinions = opinions.iter();
    let said: Vec<_> = opinions
        .map(|(release, findings)| (release.run(verdicts), &**findings))
        .collect();
    let warn = |found: &JudgedFinding<'a>| {
        let finding = found.finding().clone();
        if !finding.is_upstream() || !finding.rule().is_disputed() {
            return (found.enforcement(), finding);
        }
        (Enforcement::Warn, finding.of_releases(found.releases()))
    };
    merged(&said).iter().map(warn).collect()
}

//! What a program that embeds the module asks besides a policy server's questions: findings as data, for many releases at once.
//!
//! No published policy has these operations.

use kubewarden_policy_sdk::wapc_guest::{self as guest, CallResult};
use managed_by::{AdmissionReview, Enforcement, Finding, Release, ReleaseSet, Verdict, judge_in};
use serde::Serialize;

use crate::Cluster;
use crate::response::ValidationResponse;

/// Registers `judge` and `describe`.
pub(crate) fn register() {
    guest::register_function("judge", judge);
    guest::register_function("describe", describe);
}

/// The answer to `describe`: what the module is.
#[derive(Serialize)]
struct Description {
    /// The version of the policy.
    version: &'static str,
    /// The releases that it knows, oldest first.
    releases: Vec<&'static str>,
}

fn describe(_: &[u8]) -> CallResult {
    let description = Description {
        version: env!("CARGO_PKG_VERSION"),
        releases: Release::ALL.iter().map(|r| r.as_str()).collect(),
    };
    Ok(serde_json::to_vec(&description)?)
}

/// What some releases say, all the same.
#[derive(Serialize)]
struct Opinion<'a> {
    /// The releases; none if the settings were taken as they are.
    releases: Vec<&'static str>,
    /// What `validate` would answer.
    response: ValidationResponse<'a>,
    /// What the rules found, in the order of the catalogue.
    findings: Vec<Found>,
}

impl<'a> Opinion<'a> {
    fn new(releases: ReleaseSet, verdict: &Verdict<'a>, release: Release) -> Self {
        let findings = verdict.findings.iter();
        Self {
            releases: releases.iter().map(Release::as_str).collect(),
            response: ValidationResponse(verdict.clone()),
            findings: findings.map(|found| Found::new(found, release)).collect(),
        }
    }
}

/// One finding as data.
#[derive(Serialize)]
struct Found {
    rule: &'static str,
    /// `deny` or `warn`.
    enforcement: &'static str,
    path: String,
    /// The error's type as kube-apiserver writes it: `Invalid value`.
    r#type: &'static str,
    detail: String,
    /// The whole error as kube-apiserver of the release writes it.
    error: String,
    /// Whether kube-apiserver finds it too.
    upstream: bool,
}

impl Found {
    fn new((enforcement, finding): &(Enforcement, Finding<'_>), release: Release) -> Self {
        let error = finding.error();
        Self {
            rule: finding.rule().id(),
            enforcement: enforcement.as_str(),
            path: error.path().to_owned(),
            r#type: error.error_type().as_str(),
            detail: error.detail().to_owned(),
            error: finding.denial(release),
            upstream: finding.is_upstream(),
        }
    }
}

/// Takes a line of releases, separated by blanks, and what `validate` takes. Each release gives its opinion as if the settings
/// named it, as tools have them; if the line is empty, the settings are taken as they are. Releases that say the same share an
/// [`Opinion`].
fn judge(payload: &[u8]) -> CallResult {
    let line_end = payload.iter().position(|byte| *byte == b'\n');
    let (line, document) = payload
        .split_at_checked(line_end.unwrap_or(0))
        .ok_or("no line of releases")?;
    let releases = std::str::from_utf8(line)?
        .split_ascii_whitespace()
        .map(str::parse)
        .collect::<Result<Vec<Release>, _>>()?;
    let names: Vec<_> = releases.iter().map(|release| release.as_str()).collect();

    let answer_all = |verdict| {
        let opinion = Opinion {
            releases: names.clone(),
            response: ValidationResponse(verdict),
            findings: Vec::new(),
        };
        Ok(serde_json::to_vec(&[opinion])?)
    };
    let review = match AdmissionReview::from_json(document) {
        Ok(review) => review,
        Err(reason) => return answer_all(Verdict::malformed(&reason)),
    };
    let settings = match review.settings() {
        Ok(settings) => settings,
        Err(problems) => return answer_all(Verdict::misconfigured(&problems)),
    };

    let (settings, asked) = if releases.is_empty() {
        (settings, None)
    } else {
        let asked: ReleaseSet = releases.into_iter().collect();
        (settings.for_tools(), Some(asked))
    };
    let judgement = judge_in(&review.request, &settings, asked, &Cluster);
    let opinions: Vec<Opinion<'_>> = if asked.is_none() {
        let release = settings.kubernetes_version().unwrap_or_default();
        let verdict = judgement.verdict();
        vec![Opinion::new(ReleaseSet::default(), verdict, release)]
    } else {
        let opinions = judgement.opinions().iter();
        let newest = |set: ReleaseSet| set.newest().unwrap_or_default();
        opinions
            .map(|said| Opinion::new(said.releases, &said.verdict, newest(said.releases)))
            .collect()
    };
    Ok(serde_json::to_vec(&opinions)?)
}

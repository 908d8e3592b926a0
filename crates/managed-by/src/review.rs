//! The one way through the library: request to rules to answer.

use crate::catalogue;
use crate::cluster::{Cluster, Offline};
use crate::request::{AdmissionRequest, Subject};
use crate::rule::Context;
use crate::rule::pods::{self, PodFindings};
use crate::settings::{Role, Settings};
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
        Subject::UnknownKind(kind) => return Verdict::unknown_kind(kind),
        Subject::Pod(_) if settings.role() != Role::Management => {
            return Verdict::pod_without_role();
        }
        Subject::Pod(pod) => match pods::run(request, pod, settings, cluster) {
            PodFindings::Unanswered(failure) => {
                return Verdict::lookup_failed(&failure, settings.on_lookup_failure());
            }
            PodFindings::Found(findings) => Ok(findings),
        },
        Subject::Change(kind, change) => {
            catalogue::run(&Context::new(request, kind, change, settings))
        }
    };
    findings
        .and_then(|findings| answer(request, settings, findings))
        .unwrap_or_else(|problems| Verdict::misconfigured(&problems))
}

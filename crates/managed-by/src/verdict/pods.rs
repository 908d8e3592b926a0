//! The answer to the creation of a pod.

use super::{MAX_ANNOTATION, MAX_WARNING, Verdict, cut};
use crate::cluster::{Cluster, Unanswered};
use crate::finding::Finding;
use crate::go;
use crate::kind::pod::{Owner, Pod};
use crate::request::AdmissionRequest;
use crate::rule::Enforcement;
use crate::rule::pods::{DELEGATED_OWNER, check};
use crate::settings::{Checked, OnLookupFailure, Role, Settings};

#[inline(never)]
pub(super) fn judge<'a>(
    request: &'a AdmissionRequest<'a>,
    pod: &'a Pod<'a>,
    settings: &'a Settings<'a>,
    cluster: &dyn Cluster,
) -> Checked<Verdict<'a>> {
    let rule = &DELEGATED_OWNER;
    let enforcement = settings.enforcement(rule.id).unwrap_or(rule.default);
    if settings.role != Role::Management {
        // Somebody pays for this and gets nothing.
        let warning =
            "managed-by-policy judges pods only with role: management, and let this one pass";
        return Ok(Verdict {
            warnings: vec![warning.to_owned()],
            ..Verdict::accepted()
        });
    }
    let Some(owner) = pod.job.as_ref().filter(|_| enforcement != Enforcement::Off) else {
        return Ok(Verdict::accepted());
    };
    let error = match check(request, owner, cluster) {
        Ok(None) => return Ok(Verdict::accepted()),
        Ok(Some(error)) => error,
        Err(unanswered) => return Ok(failed(owner, &unanswered, settings)),
    };
    let finding = Finding::new(rule, error, false);
    let release = settings.kubernetes_version;
    let fired = format!("{} {}", rule.id, finding.error().path());
    let mut verdict = Verdict::accepted();
    let annotation = if enforcement == Enforcement::Warn {
        verdict
            .warnings
            .push(cut(finding.warning(release), MAX_WARNING));
        "warned"
    } else if let Some(exemption) = settings.exemption(&request.user)? {
        let warning = format!(
            "{} would have denied this, but {exemption} is exempt",
            rule.id
        );
        verdict.warnings.push(cut(warning, MAX_WARNING));
        "exempted"
    } else {
        verdict.allowed = false;
        verdict.code = Some(403);
        let name = go::quote(&request.name);
        verdict.message = Some(format!(
            "pods {name} is forbidden: {}",
            finding.denial(release)
        ));
        "denied"
    };
    verdict
        .audit_annotations
        .push((annotation, cut(fired, MAX_ANNOTATION)));
    if annotation != "exempted" {
        verdict.findings.push((enforcement, finding));
    }
    Ok(verdict)
}

/// The answer where the cluster gave none.
#[cold]
fn failed<'a>(owner: &Owner<'_>, why: &Unanswered, settings: &Settings<'_>) -> Verdict<'a> {
    let name = go::quote(&owner.name);
    let text = format!("could not look up Job {name}, which controls this pod");
    let why = cut(go::quote(&why.0), MAX_WARNING);
    let mut verdict = Verdict::accepted();
    verdict.audit_annotations.push((
        "lookup-failed",
        cut(format!("Job {name}: {why}"), MAX_ANNOTATION),
    ));
    if settings.on_lookup_failure == OnLookupFailure::Deny {
        verdict.allowed = false;
        verdict.code = Some(503);
        verdict.message = Some(format!("{text}: {why}; try again [{}]", DELEGATED_OWNER.id));
    } else {
        let warning = format!("{text}, and let it pass [{}]", DELEGATED_OWNER.id);
        verdict.warnings.push(cut(warning, MAX_WARNING));
    }
    verdict
}

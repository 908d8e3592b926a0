//! `pods/delegated-owner`

use crate::cluster::{Cluster, Lookup, LookupError};
use crate::decode::{DecodeError, decode};
use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::{FieldError, RuleFinding};
use crate::kind::{JOB, Reconciler};
use crate::object::pod::{OwnerReference, Pod};
use crate::object::{Object, ObjectSeed};
use crate::request::AdmissionRequest;
use crate::rule::{Check, CheckFn};
use crate::settings::Settings;
use crate::upstream::go;

pub(crate) static DELEGATED_OWNER: Check = Check::new(
    Rule::policy("pods/delegated-owner", include_str!("delegated-owner.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .for_jobs(),
    CheckFn::Pod,
);

pub(crate) enum PodFindings<'a> {
    Found(Vec<(Enforcement, RuleFinding<'a>)>),
    LookupFailed(LookupFailed<'a>),
}

/// Failed lookup of the Job that controls a pod.
pub(crate) struct LookupFailed<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) job: &'a str,
    pub(crate) error: LookupError,
}

/// Evaluates the rules about pods, which may look up a Job in the cluster.
pub(crate) fn run<'a>(
    request: &AdmissionRequest<'_>,
    pod: &'a Pod<'_>,
    settings: &Settings<'_>,
    cluster: &dyn Cluster,
) -> PodFindings<'a> {
    let rule = &DELEGATED_OWNER.rule;
    let enforcement = settings.enforcement(rule.id).unwrap_or(rule.default);
    let Some(owner) = pod.job().filter(|_| enforcement != Enforcement::Off) else {
        return PodFindings::Found(Vec::new());
    };
    match check(request, owner, cluster) {
        Ok(error) => {
            let finding = error.map(|error| (enforcement, RuleFinding::new(rule, error, false)));
            PodFindings::Found(finding.into_iter().collect())
        }
        Err(error) => PodFindings::LookupFailed(LookupFailed {
            rule,
            job: &owner.name,
            error,
        }),
    }
}

/// Checks a pod whose controller is a Job.
///
/// # Errors
/// Fails if the Job can't be looked up or decoded.
fn check<'a>(
    request: &AdmissionRequest<'_>,
    owner: &OwnerReference<'_>,
    cluster: &dyn Cluster,
) -> Result<Option<FieldError<'a>>, LookupError> {
    // A cached Job with another UID may have been deleted and created again since.
    for may_be_cached in [true, false] {
        let Lookup::Found(bytes) = cluster.job(&request.namespace, &owner.name, may_be_cached)?
        else {
            return Ok(None);
        };
        let job =
            decode_job(&bytes).map_err(|e| LookupError::Unreadable(format!("not a Job: {e}")))?;
        if job.metadata.uid == owner.uid {
            return Ok(check_job(owner, &job));
        }
    }
    Ok(None)
}

fn check_job<'a>(owner: &OwnerReference<'_>, job: &Object<'_>) -> Option<FieldError<'a>> {
    let Reconciler::Delegated(controller) = job.reconciler(&JOB) else {
        return None;
    };
    let path = format!("metadata.ownerReferences[{}]", owner.index);
    let (name, controller) = (go::quote(&owner.name), go::quote(controller));
    let brief = format!("two controllers run Job {name}, which is delegated to {controller}");
    let detail = format!(
        "{brief}; enable the feature gate JobManagedBy in every kube-controller-manager of this cluster"
    );
    Some(FieldError::forbidden(path, detail).with_short_detail(brief))
}

fn decode_job(bytes: &[u8]) -> Result<Object<'_>, DecodeError> {
    let job = decode(bytes, ObjectSeed(&JOB))?;
    job.ok_or_else(|| DecodeError::unexpected("", "an object", "null"))
}

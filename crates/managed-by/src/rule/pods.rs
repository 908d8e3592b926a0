//! `pods/delegated-owner`

use crate::cluster::{Cluster, FoundJob, Unanswered};
use crate::decode::{Malformed, Note, Place, document};
use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{FieldError, Finding};
use crate::kind::{JOB, Mode};
use crate::object::Object;
use crate::object::pod::{Owner, Pod};
use crate::request::AdmissionRequest;
use crate::rule::{Check, Run};
use crate::settings::Settings;
use crate::upstream::go;

pub(crate) static DELEGATED_OWNER: Check = Check {
    rule: Rule {
    id: "pods/delegated-owner",
    docs: Docs::new(Documentation {
    title: "On a management cluster, no pod is created for a delegated Job",
    text: "\
Checks that the Job that controls a new pod is not delegated. Such a pod shows that two controllers run the Job: its external
controller, and a built-in controller that ignores `managedBy`, because its release does not know the field or because the
feature `JobManagedBy` is off.

The rule looks the Job up in the cluster. It is part of a second policy with a manifest of its own, which may read Jobs
(`pods/metadata.yml`).

Runs when a pod is created. A pod is allowed if no Job can have that name, if there is no such Job, or if the Job has another UID than the owner reference says. If
the look-up fails, the setting `on_lookup_failure` decides. A pod of more than 2 MiB is never judged, because PolicyServer takes no
such request: with `failurePolicy: Ignore`, as in the manifest, it is created. In the examples below, the Job `pi` is delegated to MultiKueue,
and the Job `other` does not exist.",
    fix: "Switch the feature `JobManagedBy` on in every kube-apiserver and kube-controller-manager of this cluster. Find the second controller that runs the Job, and stop it.",
    accepted: Example {
        settings: r#"{"role":"management"}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"namespace":"team-a",
            "resource":{"group":"","version":"v1","resource":"pods"},
            "object":{"metadata":{"name":"other-x7k2p","ownerReferences":[
                {"apiVersion":"batch/v1","kind":"Job","name":"other","uid":"0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7c","controller":true}]}}}"#,
    },
    rejected: Example {
        settings: r#"{"role":"management"}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"namespace":"team-a",
            "resource":{"group":"","version":"v1","resource":"pods"},
            "object":{"metadata":{"name":"pi-x7k2p","ownerReferences":[
                {"apiVersion":"batch/v1","kind":"Job","name":"pi","uid":"0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b","controller":true}]}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "KEP-4368, Risks: two controllers running when the feature is disabled",
    }),
    default: Enforcement::Deny,
    scope: Scope::Site,
    },
    run: Run::Pod,
};

/// What the rules about pods found.
pub(crate) enum PodFindings<'a> {
    Found(Vec<(Enforcement, Finding<'a>)>),
    Unanswered(LookupFailed<'a>),
}

/// A question about the Job of a pod that the cluster did not answer.
pub(crate) struct LookupFailed<'a> {
    pub(crate) rule: &'static Rule,
    /// The Job's name.
    pub(crate) job: &'a str,
    pub(crate) why: Unanswered,
}

/// Judges a pod.
pub(crate) fn run<'a>(
    request: &AdmissionRequest<'_>,
    pod: &'a Pod<'_>,
    settings: &Settings<'_>,
    cluster: &dyn Cluster,
) -> PodFindings<'a> {
    let rule = &DELEGATED_OWNER.rule;
    let enforcement = settings.enforcement(rule.id).unwrap_or(rule.default);
    let Some(owner) = pod.job.as_ref().filter(|_| enforcement != Enforcement::Off) else {
        return PodFindings::Found(Vec::new());
    };
    match check(request, owner, cluster) {
        Ok(error) => {
            let finding = error.map(|error| (enforcement, Finding::new(rule, error, false)));
            PodFindings::Found(finding.into_iter().collect())
        }
        Err(why) => PodFindings::Unanswered(LookupFailed {
            rule,
            job: &owner.name,
            why,
        }),
    }
}

/// What is wrong with a pod that a Job controls, if anything.
///
/// # Errors
/// If the cluster did not say what the Job is.
fn check<'a>(
    request: &AdmissionRequest<'_>,
    owner: &Owner<'_>,
    cluster: &dyn Cluster,
) -> Result<Option<FieldError<'a>>, Unanswered> {
    let FoundJob::Found(bytes) = cluster.job(&request.namespace, &owner.name)? else {
        return Ok(None);
    };
    let job = read_job(&bytes).map_err(|e| Unanswered::new(format!("not a Job: {e}")))?;
    if job.metadata.uid != owner.uid {
        return Ok(None);
    }
    let Mode::Delegated(controller) = job.mode(&JOB) else {
        return Ok(None);
    };
    let path = format!("metadata.ownerReferences[{}]", owner.index);
    let (name, controller) = (go::quote(&owner.name), go::quote(controller));
    let brief = format!("two controllers run Job {name}, which is delegated to {controller}");
    let detail = format!(
        "{brief}; see that every kube-controller-manager here has the feature JobManagedBy"
    );
    Ok(Some(FieldError::forbidden(path, detail).briefly(brief)))
}

/// A Job as the cluster gave it.
fn read_job(bytes: &[u8]) -> Result<Object<'_>, Malformed> {
    let note = Note::default();
    let place = Place::root(&note);
    let job = document(bytes, place, |value| Object::read(value, &JOB))??;
    job.ok_or_else(|| Malformed::shape("", "an object", "null"))
}

//! `job-spec/...`: kube-apiserver's checks on updates of a Job's spec.

#[cfg(feature = "manifests")]
mod fields;
#[cfg(feature = "manifests")]
pub(crate) mod immutable_field;

use crate::description::{Enforcement, Rule, Upstream};
use crate::finding::{BadValue, FieldError};
use crate::object::Object;
use crate::object::job::{ConditionTypes, Job};
use crate::object::template::{has_same_affinity, has_same_directives};
use crate::release::Release;
use crate::request::Change;
use crate::rule::{Check, CheckFn, Context, Findings};

pub(crate) static SCHEDULING_DIRECTIVES: Check = Check::new(
    Rule::upstream(
        "job-spec/scheduling-directives",
        include_str!("scheduling-directives.md"),
        Upstream::in_function("validatePodTemplateUpdate (pkg/apis/batch/validation)")
            .with_option("AllowMutableSchedulingDirectives")
            .changed_in(Release::V1_36_1),
    )
    .with_default(Enforcement::Off)
    .for_jobs(),
    CheckFn::Change(check),
)
.exercised_when_change(|change| {
    SuspendedJobUpdate::from_change(change).is_some_and(|job| job.changes_template())
});

pub(crate) static IMMUTABLE_FIELD: Check = Check::new(
    Rule::upstream(
        "job-spec/immutable-field",
        include_str!("immutable-field.md"),
        Upstream::in_function("ValidateJobSpecUpdate (pkg/apis/batch/validation)"),
    )
    .for_jobs()
    .for_manifests(),
    CheckFn::Manifest,
);

/// Update of the main resource of a Job that is suspended in the stored object.
pub(crate) struct SuspendedJobUpdate<'a> {
    new: &'a Job<'a>,
    old: &'a Job<'a>,
}

impl<'a> SuspendedJobUpdate<'a> {
    /// Returns the update, or [`None`] for other changes.
    pub(crate) fn from_change(change: &'a Change<Object<'a>>) -> Option<Self> {
        let Change::Update { object, old } = change else {
            return None;
        };
        let (new, old) = (object.job.as_ref()?, old.job.as_ref()?);
        old.spec.suspend.then_some(Self { new, old })
    }

    fn changes_template(&self) -> bool {
        self.new.spec.template != self.old.spec.template
    }

    /// Returns true if the status allows changes of the scheduling directives (`validationOptionsForJob`).
    fn may_change(&self, release: Release) -> bool {
        let status = &self.old.status;
        let is_not_started = status.start_time.is_none();
        if release.minor() < 36 {
            return is_not_started;
        }
        let is_suspended = status.conditions.is_true(ConditionTypes::SUSPENDED);
        let is_exempt = is_not_started && release != Release::V1_36_1;
        status.active == 0 && (is_suspended || is_exempt)
    }
}

/// Returns true if the request compares a stored object with a manifest, which may omit what an apply keeps. Then
/// `job-spec/immutable-field` decides.
#[cfg(feature = "manifests")]
fn compares_stored(context: &Context<'_>) -> bool {
    let is_stored =
        |text| immutable_field::is_stored(&serde_json::from_str(text).unwrap_or_default());
    context
        .request
        .source
        .manifests()
        .is_some_and(|texts| texts.old.is_some_and(is_stored) && !is_stored(texts.object))
}

/// Returns true if the request compares manifests without the status of the stored Job.
#[cfg(feature = "manifests")]
fn lacks_status(context: &Context<'_>) -> bool {
    let manifests = context.request.source.manifests();
    let old = manifests.and_then(|manifests| manifests.old);
    old.is_some_and(|old| {
        !immutable_field::is_status_known(&serde_json::from_str(old).unwrap_or_default())
    })
}

#[cfg(not(feature = "manifests"))]
const fn compares_stored(_: &Context<'_>) -> bool {
    false
}

#[cfg(not(feature = "manifests"))]
const fn lacks_status(_: &Context<'_>) -> bool {
    false
}

const TEMPLATE: &str = "spec.template";
const POD_SPEC: &str = "spec.template.spec";

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let job = SuspendedJobUpdate::from_change(context.change);
    let Some(job) = job.filter(SuspendedJobUpdate::changes_template) else {
        return;
    };
    if compares_stored(context) {
        return;
    }
    let release = context.release;
    let (new, old) = (job.new.spec.template, job.old.spec.template);
    let immutable = |path: &'static str, detail: &'static str| {
        FieldError::invalid(path, BadValue::Omitted, detail)
    };
    if !job.may_change(release) && !lacks_status(context) {
        if !has_same_directives(new, old, release) {
            findings.push(immutable(TEMPLATE, "field is immutable"));
        }
        return;
    }
    if !has_same_affinity(new, old, release) {
        // If the scheduling directives may change, 1.36 compares the rest of the pod spec only.
        let path = if release.minor() < 36 {
            TEMPLATE
        } else {
            POD_SPEC
        };
        findings.push(immutable(path, "field is immutable"));
    }
}

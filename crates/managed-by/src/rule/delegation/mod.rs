//! `delegation/...`: rules about delegated workloads that their controller can never run. They warn by default.

pub(crate) mod ignored_field;
#[cfg(feature = "manifests")]
pub(crate) mod manifest;
pub(crate) mod missing_label;
pub(crate) mod short_ttl;
#[cfg(feature = "lookups")]
pub(crate) mod unusable_queue;

use crate::decode::Raw;
use crate::description::{Enforcement, Rule, RuleCategory};
use crate::kind::{FieldLocation, Kind, METADATA_LABELS, QUEUE_NAME};
use crate::object::Object;
use crate::object::pod::OwnerReference;
use crate::request::Change;
use crate::rule::{Check, CheckFn, Context};
use crate::settings::SettingsErrors;

pub(crate) static NO_REQUESTS: Check = Check::new(
    Rule::policy("delegation/no-requests", include_str!("no-requests.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .with_default(Enforcement::Warn)
        .for_kinds(|kind| matches!(kind.group(), "batch" | "jobset.x-k8s.io"))
        .for_manifests(),
    CheckFn::Manifest,
);

pub(crate) static UNSUPPORTED_FIELD: Check = Check::new(
    Rule::policy(
        "delegation/unsupported-field",
        include_str!("unsupported-field.md"),
    )
    .with_category(RuleCategory::ClusterSpecific)
    .with_default(Enforcement::Warn)
    .for_kinds(|kind| kind.group() == "ray.io")
    .for_manifests(),
    CheckFn::Manifest,
);

/// Newly delegated workload, or template for delegated workloads.
struct Delegated<'a> {
    controller: &'a str,
    object: &'a Object<'a>,
}

impl<'a> Delegated<'a> {
    /// Returns the workload of a create, or the template of an update that changes `managedBy`. In a workload, the field is immutable.
    /// A stored object with a status has already run.
    fn from_context(context: &Context<'a>) -> Option<Self> {
        let (kind, change) = (context.kind, context.change);
        let is_create = matches!(change, Change::Create { .. });
        if !is_create && kind.location == FieldLocation::Workload {
            return None;
        }
        Some(Self {
            controller: kind.reconciler(context.new_managed_by()).controller()?,
            object: change.object(),
        })
    }

    /// Returns true if a controller owns the object, so that users can't change it.
    fn is_owned(&self) -> bool {
        let owners = self.object.metadata.owner_references;
        owners.is_some_and(|owners| !matches!(OwnerReference::controller_of(owners), Ok(None)))
    }
}

/// Returns the labels of a workload, or of the workloads that are created from a template. A declaration doesn't say where a template has them.
pub(super) fn workload_labels<'a>(kind: &Kind<'_>, object: &Object<'a>) -> Option<Raw<'a>> {
    if kind.is_declared || kind.workload_labels_path() == Some(METADATA_LABELS) {
        object.metadata.labels
    } else {
        object.custom.as_deref()?.template_labels
    }
}

/// Returns true if labels contain a key with a value that is not empty.
fn has_label(labels: Option<Raw<'_>>, key: &str) -> bool {
    let value = labels.and_then(|labels| labels.member(key));
    let value = value.and_then(Raw::string);
    value.is_some_and(|value| !value.is_empty())
}

/// Returns true if a workload with the labels has a queue in Kueue.
pub(super) fn has_queue(
    context: &Context<'_>,
    labels: Option<Raw<'_>>,
) -> Result<bool, SettingsErrors> {
    let namespace = &context.request.namespace;
    Ok(has_label(labels, QUEUE_NAME) || context.settings.has_default_local_queue(namespace)?)
}

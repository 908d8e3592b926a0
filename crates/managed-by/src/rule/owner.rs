//! Lookup of the workload that controls an object, from its owner references. It does not check that the owner exists.

use crate::kind::{FieldLocation, Kind};
use crate::object::Object;
use crate::object::pod::OwnerReference;
use crate::request::GroupVersionKind;
use crate::rule::Context;
use crate::settings::SettingsErrors;

/// Returns the controller in an object's owner references if it is a workload with `managedBy`, of a known kind or one in
/// `custom_kinds`. A CronJob has `managedBy` only in its template, so this returns [`None`] for its Jobs.
pub(super) fn workload<'a>(
    context: &Context<'_>,
    object: &Object<'a>,
) -> Result<Option<OwnerReference<'a>>, SettingsErrors> {
    let owner = object
        .metadata
        .owner_references
        .map(OwnerReference::controller_of);
    // kube-apiserver never sends invalid references.
    let Some(Ok(Some(owner))) = owner else {
        return Ok(None);
    };
    let Some((group, version)) = owner.api_version.split_once('/') else {
        return Ok(None);
    };
    let is_workload = if let Some(kind) = Kind::find(group, version, &owner.kind) {
        kind.location == FieldLocation::Workload
    } else {
        let kind = GroupVersionKind {
            group: group.into(),
            version: version.into(),
            kind: (&*owner.kind).into(),
        };
        let declared = context.settings.custom_kind(&kind)?;
        declared.is_some_and(|kind| kind.is_workload())
    };
    Ok(is_workload.then_some(owner))
}

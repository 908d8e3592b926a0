//! The workload that controls an object, as its owner references say. Nobody checks that it exists.

use crate::kind::{Holder, Kind};
use crate::object::Object;
use crate::object::pod::Owner;
use crate::request::GroupVersionKind;
use crate::rule::Context;
use crate::settings::Problems;

/// The controller among an object's owners, if it is a workload that has the field itself: of a kind that the library knows
/// or that the settings declare. A CronJob has the field only in its template, so its Jobs have no such owner.
pub(super) fn workload<'a>(
    context: &Context<'_>,
    object: &Object<'a>,
) -> Result<Option<Owner<'a>>, Problems> {
    let owner = object.metadata.owner_references.map(Owner::controller_of);
    // References that cannot be read are none of kube-apiserver's.
    let Some(Ok(Some(owner))) = owner else {
        return Ok(None);
    };
    let Some((group, version)) = owner.api_version.split_once('/') else {
        return Ok(None);
    };
    let is_workload = if let Some(kind) = Kind::find(group, version, &owner.kind) {
        kind.holder == Holder::Workload
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

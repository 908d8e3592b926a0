//! `delegation/...`: rules about delegated workloads that their controller can never run. They warn by default.

pub(crate) mod missing_label;

use crate::kind::FieldLocation;
use crate::object::Object;
use crate::object::pod::OwnerReference;
use crate::request::Change;
use crate::rule::Context;

/// Newly delegated workload, or template for delegated workloads.
struct Delegated<'a> {
    controller: &'a str,
    object: &'a Object<'a>,
}

impl<'a> Delegated<'a> {
    /// Returns the workload of a create or of a stored object, or the template of an update that changes `managedBy`. In a workload,
    /// the field is immutable.
    fn from_context(context: &Context<'a>) -> Option<Self> {
        let (kind, change) = (context.kind, context.change);
        let is_update = matches!(change, Change::Update { .. });
        if is_update && kind.location == FieldLocation::Workload {
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

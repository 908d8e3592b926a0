//! `delegation/...`: rules about delegated workloads that their controller can never run. They warn by default.

pub(crate) mod ignored_field;
pub(crate) mod missing_label;
pub(crate) mod short_ttl;
#[cfg(feature = "lookups")]
pub(crate) mod unusable_queue;

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

//! Changes to objects: the part of a request that rules evaluate.

use crate::decode::Result;
use crate::object::Object;

/// Change of an object, with the new and the old object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<O> {
    /// A client creates the object. kube-apiserver drops the status of a create.
    Create {
        /// The new object.
        object: O,
    },
    /// The object is stored and unchanged, and is evaluated with its status. Kubewarden's audit scanner sends it as a CREATE, and a
    /// watch starts with it.
    Stored {
        /// The stored object.
        object: O,
    },
    /// A client updates the main resource. kube-apiserver keeps the old status.
    Update {
        /// The new object.
        object: O,
        /// The stored object.
        old: O,
    },
    /// A client updates the subresource `status`. kube-apiserver keeps the old spec.
    UpdateStatus {
        /// The new object.
        object: O,
        /// The stored object.
        old: O,
    },
}

impl<O> Change<O> {
    /// Returns the new object, or the stored one if there is no change.
    pub(crate) fn object(&self) -> &O {
        match self {
            Self::Create { object }
            | Self::Stored { object }
            | Self::Update { object, .. }
            | Self::UpdateStatus { object, .. } => object,
        }
    }

    pub(crate) fn old(&self) -> Option<&O> {
        match self {
            Self::Create { .. } | Self::Stored { .. } => None,
            Self::Update { old, .. } | Self::UpdateStatus { old, .. } => Some(old),
        }
    }

    /// Returns the operation and the subresource of the request. The audit scanner sends stored objects as creates.
    pub(super) const fn operation(&self) -> (&'static str, &'static str) {
        match self {
            Self::Create { .. } | Self::Stored { .. } => ("CREATE", ""),
            Self::Update { .. } => ("UPDATE", ""),
            Self::UpdateStatus { .. } => ("UPDATE", "status"),
        }
    }

    pub(super) fn as_ref(&self) -> Change<&O> {
        match self {
            Self::Create { object } => Change::Create { object },
            Self::Stored { object } => Change::Stored { object },
            Self::Update { object, old } => Change::Update { object, old },
            Self::UpdateStatus { object, old } => Change::UpdateStatus { object, old },
        }
    }

    /// Converts the objects. The closure gets the name of each object's member in a request.
    pub(super) fn try_map<P>(self, convert: impl Fn(O, &str) -> Result<P>) -> Result<Change<P>> {
        let new = |object| convert(object, "object");
        let stored = |old| convert(old, "oldObject");
        Ok(match self {
            Self::Create { object } => Change::Create {
                object: new(object)?,
            },
            Self::Stored { object } => Change::Stored {
                object: new(object)?,
            },
            Self::Update { object, old } => Change::Update {
                object: new(object)?,
                old: stored(old)?,
            },
            Self::UpdateStatus { object, old } => Change::UpdateStatus {
                object: new(object)?,
                old: stored(old)?,
            },
        })
    }
}

impl<'a> Change<Object<'a>> {
    /// Converts a create with a status to [`Change::Stored`]. An API server drops the status of a create before it calls webhooks,
    /// so only the audit scanner sends one.
    pub(super) fn detect_stored(self) -> Self {
        match self {
            Self::Create { object } if object.has_status() => Self::Stored { object },
            change => change,
        }
    }

    /// Returns the object with the effective spec: kube-apiserver keeps the old spec in a status update.
    pub(crate) fn spec_object(&self) -> &Object<'a> {
        match self {
            Self::UpdateStatus { old, .. } => old,
            Self::Create { object } | Self::Stored { object } | Self::Update { object, .. } => {
                object
            }
        }
    }

    /// Returns true if the stored object is being deleted. An update can't set `deletionTimestamp`.
    pub(crate) fn is_being_deleted(&self) -> bool {
        let stored = self.old().unwrap_or_else(|| self.object());
        stored.metadata.is_being_deleted
    }
}

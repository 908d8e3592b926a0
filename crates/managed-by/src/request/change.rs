//! Changes of an object.

use crate::decode::Result;
use crate::object::Object;

/// A change of an object, with the objects that rules evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<O> {
    /// A client creates it. A status in it counts for nothing: kube-apiserver drops the status of a create.
    Create {
        /// The object to be stored.
        object: O,
    },
    /// Nothing happens to it: it is stored, and is judged with its status. The background audit of Kubewarden sends such an
    /// object as a CREATE, and the first event of a watch shows one.
    Stored {
        /// The object as stored.
        object: O,
    },
    /// A client updates the main resource. The status that counts is the old one.
    Update {
        /// The object to be stored.
        object: O,
        /// The object as stored.
        old: O,
    },
    /// A client updates the subresource `status`. The spec that counts is the old one.
    UpdateStatus {
        /// The object to be stored.
        object: O,
        /// The object as stored.
        old: O,
    },
}

impl<O> Change<O> {
    /// The new object, or the stored one if the request has no new one.
    pub(crate) fn object(&self) -> &O {
        match self {
            Self::Create { object }
            | Self::Stored { object }
            | Self::Update { object, .. }
            | Self::UpdateStatus { object, .. } => object,
        }
    }

    /// The object as it was before, if it is updated.
    pub(crate) fn old(&self) -> Option<&O> {
        match self {
            Self::Create { .. } | Self::Stored { .. } => None,
            Self::Update { old, .. } | Self::UpdateStatus { old, .. } => Some(old),
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

    /// Converts the objects, with the names of their members in a request.
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
    /// Converts a create with a status to [`Change::Stored`]: an API server drops the status of a real create before it calls webhooks,
    /// so the background audit sent this one.
    pub(super) fn of_request(self) -> Self {
        match self {
            Self::Create { object } if object.has_status() => Self::Stored { object },
            change => change,
        }
    }

    /// The object whose spec counts: kube-apiserver keeps the old spec in an update of the status.
    pub(crate) fn spec_holder(&self) -> &Object<'a> {
        match self {
            Self::UpdateStatus { old, .. } => old,
            Self::Create { object } | Self::Stored { object } | Self::Update { object, .. } => {
                object
            }
        }
    }

    /// Returns true if the object is being deleted. The stored object decides, because an update cannot set `deletionTimestamp`.
    pub(crate) fn is_being_deleted(&self) -> bool {
        let stored = self.old().unwrap_or_else(|| self.object());
        stored.metadata.is_being_deleted
    }
}

//! What is to change in an object.

use crate::decode::{Malformed, Result};
use crate::object::Object;

/// What happens to an object, with the objects that rules judge.
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

    /// What a request says that asks for it.
    pub(super) const fn says(&self) -> Says {
        match self {
            Self::Create { .. } => Says::Create,
            Self::Stored { .. } => Says::Stored,
            Self::Update { .. } => Says::Update,
            Self::UpdateStatus { .. } => Says::UpdateStatus,
        }
    }

    /// The same change of the objects as something else reads them, which is told their names in a request.
    pub(super) fn read<P>(&self, read: impl Fn(&O, &str) -> Result<P>) -> Result<Change<P>> {
        let new = |object| read(object, "object");
        let before = |old| read(old, "oldObject");
        Ok(match self {
            Self::Create { object } => Change::Create {
                object: new(object)?,
            },
            Self::Stored { object } => Change::Stored {
                object: new(object)?,
            },
            Self::Update { object, old } => Change::Update {
                object: new(object)?,
                old: before(old)?,
            },
            Self::UpdateStatus { object, old } => Change::UpdateStatus {
                object: new(object)?,
                old: before(old)?,
            },
        })
    }
}

impl<'a> Change<Object<'a>> {
    /// What a request says that an API server sends, or the background audit in its name. The stored object is read if there
    /// must be one.
    pub(super) fn of(
        says: Says,
        object: Object<'a>,
        old: impl FnOnce() -> Result<Object<'a>>,
    ) -> Result<Self> {
        Ok(match says {
            // An API server has dropped the status of a real create before it asks: this one lies in the store.
            Says::CreateOrStored if object.has_status() => Self::Stored { object },
            Says::Stored => Self::Stored { object },
            Says::Create | Says::CreateOrStored => Self::Create { object },
            Says::Update => Self::Update {
                object,
                old: old()?,
            },
            Says::UpdateStatus => Self::UpdateStatus {
                object,
                old: old()?,
            },
        })
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

    /// Whether the object is being deleted. The stored object decides, because an update cannot set `deletionTimestamp`.
    pub(crate) fn is_of_deleted(&self) -> bool {
        let stored = self.old().unwrap_or_else(|| self.object());
        stored.metadata.is_being_deleted
    }
}

/// What a request says of an object that is judged: its operation and its subresource.
#[derive(Debug, Clone, Copy)]
pub(super) enum Says {
    Create,
    Stored,
    /// A request of an API server: with a status it is one of the background audit.
    CreateOrStored,
    Update,
    UpdateStatus,
}

/// The object that a member of the request must hold.
pub(super) fn required<'a>(object: Result<Option<Object<'a>>>, member: &str) -> Result<Object<'a>> {
    object
        .map_err(|e| e.within(member))?
        .ok_or_else(|| nothing(member))
}

pub(super) fn nothing(member: &str) -> Malformed {
    Malformed::unexpected(member, "an object", "nothing")
}

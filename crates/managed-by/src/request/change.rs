//! What is to change in an object.

use crate::decode::{Malformed, Result};
use crate::object::Object;

/// A change that rules judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// CREATE.
    Create {
        /// The object to be stored.
        object: Object<'a>,
    },
    /// UPDATE of the main resource.
    Update {
        /// The object to be stored.
        object: Object<'a>,
        /// The object as stored.
        old: Object<'a>,
    },
    /// UPDATE of the `status` subresource. kube-apiserver has put the old spec into the new object already.
    UpdateStatus {
        /// The object to be stored.
        object: Object<'a>,
        /// The object as stored.
        old: Object<'a>,
    },
}

impl<'a> Change<'a> {
    /// What is asked of an object. The stored one is read if there must be one.
    pub(super) fn of(
        asks: Asks,
        object: Object<'a>,
        old: impl FnOnce() -> Result<Object<'a>>,
    ) -> Result<Self> {
        Ok(match asks {
            Asks::Create => Self::Create { object },
            Asks::Update => Self::Update {
                object,
                old: old()?,
            },
            Asks::UpdateStatus => Self::UpdateStatus {
                object,
                old: old()?,
            },
        })
    }

    /// The object that is to be stored.
    pub(crate) fn object(&self) -> &Object<'a> {
        match self {
            Self::Create { object }
            | Self::Update { object, .. }
            | Self::UpdateStatus { object, .. } => object,
        }
    }

    /// The object as stored, if it is.
    pub(crate) fn old(&self) -> Option<&Object<'a>> {
        match self {
            Self::Create { .. } => None,
            Self::Update { old, .. } | Self::UpdateStatus { old, .. } => Some(old),
        }
    }

    /// The object whose spec counts: kube-apiserver keeps the old spec in an update of the status.
    pub(crate) fn spec_holder(&self) -> &Object<'a> {
        match self {
            Self::UpdateStatus { old, .. } => old,
            Self::Create { object } | Self::Update { object, .. } => object,
        }
    }

    /// Whether the object is being deleted. An update cannot say so of itself: what is stored counts.
    pub(crate) fn is_of_deleted(&self) -> bool {
        let stored = self.old().unwrap_or_else(|| self.object());
        stored.metadata.is_being_deleted
    }
}

/// What is asked of an object that is judged.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asks {
    Create,
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
    Malformed::shape(member, "an object", "nothing")
}

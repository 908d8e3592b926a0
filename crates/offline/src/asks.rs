//! What a request asks for.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// A client creates it, without a status: the API server drops the status of a create.
    Create,
    /// Nothing: the object is stored, and its status counts. Nobody asks for it, so that nobody can be denied.
    Stored,
    /// A client updates the main resource: the status stays as it is.
    Update,
    /// A client updates the status: the rest stays as it is.
    UpdateStatus,
    /// A client deletes it.
    Delete,
}

impl Asks {
    /// The operation in a request. The background audit sends what is stored as a CREATE.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Create | Self::Stored => "CREATE",
            Self::Update | Self::UpdateStatus => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// The subresource in a request; empty for the main resource.
    pub const fn sub_resource(self) -> &'static str {
        match self {
            Self::UpdateStatus => "status",
            Self::Create | Self::Stored | Self::Update | Self::Delete => "",
        }
    }

    /// Whether there is an object before.
    pub(crate) const fn is_update(self) -> bool {
        matches!(self, Self::Update | Self::UpdateStatus)
    }

    /// Whether the object is judged as it is stored.
    pub const fn is_stored(self) -> bool {
        matches!(self, Self::Stored)
    }
}

/// `operation`, `subResource` and, of what is stored, `stored`.
impl Serialize for Asks {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut members = json.serialize_map(None)?;
        members.serialize_entry("operation", self.operation())?;
        members.serialize_entry("subResource", self.sub_resource())?;
        if self.is_stored() {
            members.serialize_entry("stored", &true)?;
        }
        members.end()
    }
}

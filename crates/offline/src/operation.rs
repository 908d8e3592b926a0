//! The operation of a request.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A create by a client, without a status, because the API server drops it.
    Create,
    /// No request: a stored object, evaluated with its status. A replay doesn't count its errors as denials.
    Stored,
    /// An update of the main resource by a client; the status stays unchanged.
    Update,
    /// An update of the status by a client; the rest stays unchanged.
    UpdateStatus,
    /// A deletion by a client.
    Delete,
}

impl Operation {
    /// Returns the operation in an `AdmissionRequest`: for stored objects CREATE, which the audit scanner sends too.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create | Self::Stored => "CREATE",
            Self::Update | Self::UpdateStatus => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// Returns the subresource; empty for the main resource.
    pub const fn subresource(self) -> &'static str {
        match self {
            Self::UpdateStatus => "status",
            Self::Create | Self::Stored | Self::Update | Self::Delete => "",
        }
    }

    pub const fn is_stored(self) -> bool {
        matches!(self, Self::Stored)
    }
}

/// Serializes `operation`, `subResource` and, for stored objects, `stored`.
impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut members = json.serialize_map(None)?;
        members.serialize_entry("operation", self.as_str())?;
        members.serialize_entry("subResource", self.subresource())?;
        if self.is_stored() {
            members.serialize_entry("stored", &true)?;
        }
        members.end()
    }
}

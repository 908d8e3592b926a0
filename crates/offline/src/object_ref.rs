//! Names of objects.

use std::fmt;

use serde::Serialize;

/// The identity of an object: kind, namespace and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "ReplayObject"))]
pub struct ObjectRef {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty if it has none.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ObjectRef {
    /// Returns the kind and group: `Job.batch`, `Pod`.
    pub fn kind_and_group(&self) -> String {
        match &*self.group {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// Returns the namespace and name: `team-a/pi`.
    pub fn namespaced_name(&self) -> String {
        match &*self.namespace {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

/// Formats as `Job.batch team-a/pi`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind_and_group(), self.namespaced_name())
    }
}

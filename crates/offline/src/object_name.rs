//! Names of objects.

use std::fmt;

use serde::Serialize;

use crate::record::State;

/// The identity of an object: kind, namespace and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "ReplayObject"))]
pub struct ObjectName {
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

impl ObjectName {
    /// Returns the name of an object in a state.
    pub(crate) fn of(state: &State<'_>) -> Self {
        let metadata = &state.metadata;
        Self {
            group: state.group.clone().into_owned(),
            version: state.version.clone().into_owned(),
            kind: state.kind.clone().into_owned(),
            namespace: metadata.namespace.clone().into_owned(),
            name: metadata.name.clone().into_owned(),
        }
    }

    /// Returns the kind and group: `Job.batch`, `Pod`.
    pub fn kind_and_group(&self) -> String {
        kind_and_group(&self.kind, &self.group)
    }
}

/// Returns a kind and group like [`ObjectName::kind_and_group`].
pub(crate) fn kind_and_group(kind: &str, group: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}")
}

/// Formats as `Job.batch team-a/pi`.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let kind = self.kind_and_group();
        write!(f, "{kind} {}{slash}{}", self.namespace, self.name)
    }
}

//! Parts of a request that were not evaluated.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// Part of a request that was not evaluated.
///
/// A verdict without findings only means that the evaluated parts are fine. Front ends report these parts next to the findings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unchecked {
    /// Path of the part from the object's root, such as `spec.template`. Empty for the whole object.
    pub path: String,
    /// Reason why the part was not evaluated.
    pub reason: UncheckedReason,
}

/// Reason why a part of a request was not evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UncheckedReason {
    /// The kind is neither supported nor declared in `custom_kinds`.
    UnsupportedKind,
    /// The kind is supported or declared, but not in the version of the request.
    UnsupportedVersion,
    /// The templates are nested too deeply, or come after the first 1000.
    TooManyTemplates,
    /// The object that controls a pod could not be looked up in the cluster.
    LookupFailed,
    /// Pods are not validated with the setting `role`.
    PodsNotSelected,
    /// The update changes a part that no rule checks. kube-apiserver may reject the change.
    OnlyApiServerValidates,
}

impl UncheckedReason {
    /// All reasons.
    pub const ALL: &[Self] = &[
        Self::UnsupportedKind,
        Self::UnsupportedVersion,
        Self::TooManyTemplates,
        Self::LookupFailed,
        Self::PodsNotSelected,
        Self::OnlyApiServerValidates,
    ];

    /// Returns the name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnsupportedKind => "unsupported-kind",
            Self::UnsupportedVersion => "unsupported-version",
            Self::TooManyTemplates => "too-many-templates",
            Self::LookupFailed => "lookup-failed",
            Self::PodsNotSelected => "pods-not-selected",
            Self::OnlyApiServerValidates => "only-api-server-validates",
        }
    }

    /// Describes the reason for people.
    pub const fn description(self) -> &'static str {
        match self {
            Self::UnsupportedKind => "unsupported kind",
            Self::UnsupportedVersion => "unsupported version of this kind",
            Self::TooManyTemplates => "nested too deeply, or after the first 1000 templates",
            Self::LookupFailed => "the object's controller could not be looked up",
            Self::PodsNotSelected => "pods are validated only if role is management or unset",
            Self::OnlyApiServerValidates => "kube-apiserver may reject the change",
        }
    }
}

impl Unchecked {
    /// Creates an entry for the part at a path.
    pub fn new(path: impl Into<String>, reason: UncheckedReason) -> Self {
        let path = path.into();
        Self { path, reason }
    }
}

/// Formats as `spec.template: not checked, kube-apiserver may reject the change`.
impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        let reason = self.reason.description();
        write!(f, "{}{colon}not checked, {reason}", self.path)
    }
}

/// Serializes path and reason, and both as a `message` for people.
impl Serialize for Unchecked {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        map.serialize_entry("path", &self.path)?;
        map.serialize_entry("reason", self.reason.as_str())?;
        map.serialize_entry("message", &self.to_string())?;
        map.end()
    }
}

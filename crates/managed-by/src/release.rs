//! The Kubernetes releases whose rules the library knows.

use std::fmt;
use std::str::FromStr;

/// A minor release of Kubernetes, as of its newest patch that was read; what it means for a rule is said there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Release {
    /// `JobManagedBy` alpha: the rules are those with the gate on.
    V1_30,
    /// As 1.30.
    V1_31,
    /// `JobManagedBy` beta, on.
    V1_32,
    /// Beta.
    V1_33,
    /// Beta.
    V1_34,
    /// `JobManagedBy` GA and locked.
    V1_35,
    /// GA.
    V1_36,
    /// GA.
    #[default]
    V1_37,
}

impl Release {
    /// All of them, oldest first.
    pub const ALL: &[Self] = &[
        Self::V1_30,
        Self::V1_31,
        Self::V1_32,
        Self::V1_33,
        Self::V1_34,
        Self::V1_35,
        Self::V1_36,
        Self::V1_37,
    ];

    /// The release as written in settings: `1.37`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1_30 => "1.30",
            Self::V1_31 => "1.31",
            Self::V1_32 => "1.32",
            Self::V1_33 => "1.33",
            Self::V1_34 => "1.34",
            Self::V1_35 => "1.35",
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no release that the library knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownRelease;

impl fmt::Display for UnknownRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a release from 1.30 to 1.37")
    }
}

impl std::error::Error for UnknownRelease {}

impl FromStr for Release {
    type Err = UnknownRelease;

    /// Reads a release as settings name it: `1.37`.
    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        let named = Self::ALL.iter().find(|release| release.as_str() == text);
        named.copied().ok_or(UnknownRelease)
    }
}

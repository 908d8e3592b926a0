//! The Kubernetes releases whose rules the library knows.

/// A minor release of Kubernetes, as of its newest patch that was read; what it means for a rule is said there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
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
    pub const ALL: [Self; 8] = [
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

    /// The release that is written `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.as_str() == text)
    }
}

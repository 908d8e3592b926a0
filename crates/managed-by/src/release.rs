//! Kubernetes releases whose rules the library implements, and sets of them.

use std::fmt;
use std::str::FromStr;

/// Minor release of Kubernetes, as of the newest patch release whose source was reviewed. Each rule implements the differences
/// between releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Release {
    /// `JobManagedBy` is alpha. The rules assume that the feature gate is enabled.
    V1_30,
    /// `JobManagedBy` is alpha, as in 1.30.
    V1_31,
    /// `JobManagedBy` is beta and on by default.
    V1_32,
    /// Beta.
    V1_33,
    /// Beta.
    V1_34,
    /// `JobManagedBy` is GA and locked.
    V1_35,
    /// GA.
    V1_36,
    /// GA.
    #[default]
    V1_37,
}

impl Release {
    /// All releases, oldest first.
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

    pub(crate) const OLDEST: Self = Self::V1_30;

    /// Releases with the feature `JobManagedBy` off by default.
    pub(crate) const JOB_MANAGED_BY_OFF: &[Self] = &[Self::V1_30, Self::V1_31];

    /// Newest release of each range with the same verdict on a Job's status. Messages may differ within a range.
    ///
    /// Source: the oracle (`parity/README.md`). The test vectors compare all releases of a range.
    pub(crate) const STATUS_VERDICT_RANGES: &[Self] = &[Self::V1_30, Self::V1_31, Self::V1_37];

    /// Like [`Release::STATUS_VERDICT_RANGES`], for the template of a suspended Job.
    pub(crate) const TEMPLATE_VERDICT_RANGES: &[Self] = &[Self::V1_30, Self::V1_35, Self::V1_37];

    /// Newest release of each range with equal [`Finding`](crate::Finding)s. Values are formatted later and may differ within a range.
    /// In 1.32, kube-apiserver changed its message about a `managedBy` that is too long.
    pub(crate) const FINDING_RANGES: &[Self] = &[Self::V1_31, Self::V1_37];

    /// Like [`Release::FINDING_RANGES`], for the status of a Job.
    pub(crate) const STATUS_FINDING_RANGES: &[Self] = &[
        Self::V1_30,
        Self::V1_31,
        Self::V1_33,
        Self::V1_35,
        Self::V1_37,
    ];

    /// Like [`Release::FINDING_RANGES`], for the template of a suspended Job.
    pub(crate) const TEMPLATE_FINDING_RANGES: &[Self] = &[
        Self::V1_30,
        Self::V1_31,
        Self::V1_35,
        Self::V1_36,
        Self::V1_37,
    ];

    /// Returns the releases of the range that ends with this release. `ranges` lists the newest release of each range.
    pub(crate) fn range(self, ranges: &[Self]) -> ReleaseSet {
        let newest_first = ranges.iter().rev();
        let previous = newest_first.copied().find(|release| *release < self);
        let all = Self::ALL.iter().copied();
        all.filter(|release| *release <= self && Some(*release) > previous)
            .collect()
    }

    /// Returns the release as written in settings, such as `1.37`.
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

/// Set of releases. A single release converts to a set: `ReleaseSet::from(Release::V1_36)`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ReleaseSet(u16);

impl ReleaseSet {
    /// Returns all releases.
    pub fn all() -> Self {
        Release::ALL.iter().copied().collect()
    }

    /// Returns true if a release is in the set.
    pub fn contains(self, release: Release) -> bool {
        self.0 & Self::bit(release) != 0
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the releases that are not in the other set.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the newest release in the set.
    pub fn newest(self) -> Option<Release> {
        self.iter().last()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the releases, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Release> {
        let all = Release::ALL.iter().copied();
        all.filter(move |release| self.contains(*release))
    }

    const fn bit(release: Release) -> u16 {
        1 << release as u16
    }
}

impl FromIterator<Release> for ReleaseSet {
    fn from_iter<I: IntoIterator<Item = Release>>(releases: I) -> Self {
        let with = |set: u16, release| set | Self::bit(release);
        Self(releases.into_iter().fold(0, with))
    }
}

impl From<Release> for ReleaseSet {
    fn from(release: Release) -> Self {
        Self(Self::bit(release))
    }
}

/// Formats ranges: `1.30, 1.32 to 1.37`.
impl fmt::Display for ReleaseSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(Release, Release)> = Vec::new();
        let mut before = None;
        for release in Release::ALL.iter().copied() {
            if self.contains(release) {
                match runs.last_mut() {
                    Some((_, last)) if before == Some(*last) => *last = release,
                    _ => runs.push((release, release)),
                }
            }
            before = Some(release);
        }
        for (index, (first, last)) in runs.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{first}")?;
            if last != first {
                write!(f, " to {last}")?;
            }
        }
        Ok(())
    }
}

/// Formats as `ReleaseSet(1.30, 1.32 to 1.37)`.
impl fmt::Debug for ReleaseSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleaseSet({self})")
    }
}

/// Error returned when parsing a [`Release`] fails: the text is not a supported release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseReleaseError;

impl fmt::Display for ParseReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a release from 1.30 to 1.37")
    }
}

impl std::error::Error for ParseReleaseError {}

impl FromStr for Release {
    type Err = ParseReleaseError;

    /// Parses a release as written in settings, such as `1.37`.
    fn from_str(text: &str) -> Result<Self, ParseReleaseError> {
        let named = Self::ALL.iter().find(|release| release.as_str() == text);
        named.copied().ok_or(ParseReleaseError)
    }
}

#[cfg(test)]
mod tests {
    use super::{Release, ReleaseSet};

    #[test]
    fn sets_are_formatted_as_ranges() {
        let set = |names: &[&str]| -> ReleaseSet {
            names
                .iter()
                .map(|name| name.parse::<Release>().unwrap())
                .collect()
        };
        for (names, expected) in [
            (&[][..], ""),
            (&["1.30"], "1.30"),
            (&["1.30", "1.31"], "1.30 to 1.31"),
            (
                &["1.30", "1.32", "1.33", "1.37"],
                "1.30, 1.32 to 1.33, 1.37",
            ),
        ] {
            assert_eq!(set(names).to_string(), expected);
            assert_eq!(set(names).iter().count(), names.len());
            let newest = set(names).newest();
            assert_eq!(newest.map(Release::as_str), names.last().copied());
        }
        let (one, other) = (set(&["1.30", "1.31"]), set(&["1.31", "1.32"]));
        assert_eq!(one.union(other).to_string(), "1.30 to 1.32");
        assert_eq!(one.difference(other).to_string(), "1.30");
        assert_eq!(ReleaseSet::all().to_string(), "1.30 to 1.37");
    }
}

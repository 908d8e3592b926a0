//! Kubernetes releases whose rules the library implements.

mod set;

use std::fmt;
use std::str::FromStr;

pub use set::ReleaseSet;

/// Kubernetes release: the patch releases of a minor release that have the same rules.
///
/// A variant has the name of its newest patch release. [`Release::V1_33_5`] is 1.33.0 to 1.33.5. The newest release of a minor
/// release has the name of the minor release, because it may get further patch releases: [`Release::V1_33`] is 1.33.6 and newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Release {
    /// `JobManagedBy` is alpha. The rules assume that the feature gate is enabled.
    V1_30,
    /// `JobManagedBy` is alpha, as in 1.30.
    V1_31,
    /// 1.32.0 to 1.32.6. `JobManagedBy` is beta and on by default.
    V1_32_6,
    /// 1.32.7 to 1.32.9: a suspended Job with 0 completions may finish without a `startTime` (kubernetes#132614).
    V1_32_9,
    /// From 1.32.10 on, `startTime` may change when a Job resumes (kubernetes#134769).
    V1_32,
    /// 1.33.0 to 1.33.2, as 1.32.0.
    V1_33_2,
    /// 1.33.3 to 1.33.5, as 1.32.7.
    V1_33_5,
    /// From 1.33.6 on, as 1.32.10.
    V1_33,
    /// 1.34.0 and 1.34.1, as 1.32.7.
    V1_34_1,
    /// From 1.34.2 on, as 1.32.10.
    V1_34,
    /// `JobManagedBy` is GA and locked.
    V1_35,
    /// 1.36.0 and 1.36.1. The scheduling directives of a suspended Job may change only with the condition `Suspended`.
    V1_36_1,
    /// From 1.36.2 on, they may also change before the Job starts (kubernetes#139281).
    V1_36,
    /// GA.
    #[default]
    V1_37,
}

/// Patch releases of a [`Release`].
struct Patches {
    name: &'static str,
    minor: u8,
    first: u8,
    /// Newest patch release whose source was compared with its predecessor's (`make patches`).
    last: u8,
}

const fn patches(name: &'static str, minor: u8, first: u8, last: u8) -> Patches {
    Patches {
        name,
        minor,
        first,
        last,
    }
}

impl Release {
    /// All releases, oldest first.
    pub const ALL: &[Self] = &[
        Self::V1_30,
        Self::V1_31,
        Self::V1_32_6,
        Self::V1_32_9,
        Self::V1_32,
        Self::V1_33_2,
        Self::V1_33_5,
        Self::V1_33,
        Self::V1_34_1,
        Self::V1_34,
        Self::V1_35,
        Self::V1_36_1,
        Self::V1_36,
        Self::V1_37,
    ];

    pub(crate) const OLDEST: Self = Self::V1_30;

    /// The next minor release, which the rules of the newest one apply to. Its beta has them, as far as it was compared (`parity/README.md`).
    pub const BETA_MINOR: u8 = 38;

    /// Releases with the feature `JobManagedBy` off by default.
    pub(crate) const JOB_MANAGED_BY_OFF: &[Self] = &[Self::V1_30, Self::V1_31];

    /// Returns the patch releases. To add one that behaves like its predecessor, change the last number.
    const fn patches(self) -> Patches {
        match self {
            Self::V1_30 => patches("1.30", 30, 0, 14),
            Self::V1_31 => patches("1.31", 31, 0, 14),
            Self::V1_32_6 => patches("1.32.6", 32, 0, 6),
            Self::V1_32_9 => patches("1.32.9", 32, 7, 9),
            Self::V1_32 => patches("1.32", 32, 10, 13),
            Self::V1_33_2 => patches("1.33.2", 33, 0, 2),
            Self::V1_33_5 => patches("1.33.5", 33, 3, 5),
            Self::V1_33 => patches("1.33", 33, 6, 13),
            Self::V1_34_1 => patches("1.34.1", 34, 0, 1),
            Self::V1_34 => patches("1.34", 34, 2, 12),
            Self::V1_35 => patches("1.35", 35, 0, 8),
            Self::V1_36_1 => patches("1.36.1", 36, 0, 1),
            Self::V1_36 => patches("1.36", 36, 2, 5),
            Self::V1_37 => patches("1.37", 37, 0, 2),
        }
    }

    /// Returns true if no other release has older patch releases of the same minor release.
    const fn is_first_of_minor(self) -> bool {
        self.patches().first == 0
    }

    /// Returns true if no other release has newer patch releases of the same minor release.
    pub(crate) fn is_last_of_minor(self) -> bool {
        let newer = Self::ALL.iter().find(|release| **release > self);
        newer.is_none_or(|newer| newer.minor() != self.minor())
    }

    /// Returns the minor version, such as 36 for 1.36.1.
    pub const fn minor(self) -> u8 {
        self.patches().minor
    }

    /// Returns the release as written in settings: `1.37`, or the newest patch release with its rules, such as `1.36.1`.
    pub const fn as_str(self) -> &'static str {
        self.patches().name
    }

    /// Returns the newest patch release that is known to have the rules of this release, such as `1.33.13`.
    pub fn newest_patch(self) -> String {
        let Patches { minor, last, .. } = self.patches();
        format!("1.{minor}.{last}")
    }

    /// Returns true if a version of a supported minor release is newer than each known patch release, or the beta of the next minor release.
    /// The rules of the newest known one apply to it.
    pub fn is_newer_than_known(version: &str) -> bool {
        let (minor, patch) = match parse_version(version) {
            Some((Self::BETA_MINOR, _)) => return true,
            Some((minor, Some(patch))) => (minor, patch),
            _ => return false,
        };
        let mut newest_first = Self::ALL.iter().rev();
        let known = newest_first.find(|known| known.minor() == minor);
        known.is_some_and(|known| patch > u32::from(known.patches().last))
    }
}

/// Releases that give every status update of a Job the same verdict. Messages may differ.
///
/// Source: the oracle (`parity/README.md`). The test vectors compare all releases of a set.
pub(crate) const STATUS_VERDICT_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30]),
    ReleaseSet::of(&[Release::V1_31]),
    ReleaseSet::of(&[Release::V1_32_6, Release::V1_33_2]),
    ReleaseSet::of(&[Release::V1_32_9, Release::V1_33_5, Release::V1_34_1]),
    MUTABLE_START_TIME_ON_RESUME,
];

/// Releases in which a suspended Job with 0 completions may finish without a `startTime` (kubernetes#132614, and #132727 and
/// #132728 in older releases).
pub(crate) const OPTIONAL_START_TIME_WITHOUT_COMPLETIONS: ReleaseSet =
    ReleaseSet::of(&[Release::V1_32_9, Release::V1_33_5, Release::V1_34_1])
        .union(MUTABLE_START_TIME_ON_RESUME);

/// Releases in which `startTime` may change when a Job resumes (kubernetes#134769, and #135128 to #135130 in older releases).
pub(crate) const MUTABLE_START_TIME_ON_RESUME: ReleaseSet =
    ReleaseSet::of(&[Release::V1_32, Release::V1_33]).union(ReleaseSet::at_least(Release::V1_34));

/// Like [`STATUS_VERDICT_SETS`], for the template of a suspended Job.
pub(crate) const TEMPLATE_VERDICT_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30]),
    ReleaseSet::at_least(Release::V1_31).difference(ReleaseSet::at_least(Release::V1_36_1)),
    ReleaseSet::of(&[Release::V1_36_1]),
    ReleaseSet::at_least(Release::V1_36),
];

/// Releases with equal findings. Values are formatted later and may differ in a set.
/// In 1.32, kube-apiserver changed its message about a `managedBy` that is too long.
pub(crate) const FINDING_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30, Release::V1_31]),
    ReleaseSet::at_least(Release::V1_32_6),
];

/// Like [`FINDING_SETS`], for the status of a Job.
pub(crate) const STATUS_FINDING_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30]),
    ReleaseSet::of(&[Release::V1_31]),
    ReleaseSet::of(&[Release::V1_32_6, Release::V1_33_2]),
    ReleaseSet::of(&[Release::V1_32_9, Release::V1_33_5]),
    ReleaseSet::of(&[Release::V1_32, Release::V1_33]),
    ReleaseSet::of(&[Release::V1_34_1]),
    ReleaseSet::of(&[Release::V1_34, Release::V1_35]),
    ReleaseSet::at_least(Release::V1_36_1),
];

/// Like [`FINDING_SETS`], for the template of a suspended Job.
pub(crate) const TEMPLATE_FINDING_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30]),
    ReleaseSet::of(&[Release::V1_31]),
    ReleaseSet::at_least(Release::V1_32_6).difference(ReleaseSet::at_least(Release::V1_36_1)),
    ReleaseSet::of(&[Release::V1_36_1]),
    ReleaseSet::at_least(Release::V1_36),
];

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Error returned when parsing a [`Release`] fails: the text is not a supported release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseReleaseError;

impl fmt::Display for ParseReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a release from 1.30 to 1.37 (1.36 or 1.36.1)")
    }
}

impl std::error::Error for ParseReleaseError {}

impl FromStr for Release {
    type Err = ParseReleaseError;

    /// Parses a version: `1.33.4`, `v1.33.4-eks-abc`, or `1.33` for the newest patch release. Versions newer than the newest known patch
    /// release have its rules, and so has [`Release::BETA_MINOR`].
    fn from_str(text: &str) -> Result<Self, ParseReleaseError> {
        let (minor, patch) = parse_version(text).ok_or(ParseReleaseError)?;
        if minor == Self::BETA_MINOR {
            return Ok(Self::default());
        }
        let has_patch = |release: &Self| patch.is_some_and(|p| p <= release.patches().last.into());
        let mut oldest_first = Self::ALL.iter().copied();
        let found = oldest_first.find(|release| {
            release.minor() == minor && (has_patch(release) || release.is_last_of_minor())
        });
        found.ok_or(ParseReleaseError)
    }
}

/// Returns the minor and, if present, the patch version. Like kubectl, accepts the prefix `v` and, after a patch version, a suffix that
/// starts with `-` or `+`.
fn parse_version(text: &str) -> Option<(u8, Option<u32>)> {
    let text = text.strip_prefix('v').unwrap_or(text).strip_prefix("1.")?;
    let Some((minor, patch)) = text.split_once('.') else {
        return Some((number(text)?.try_into().ok()?, None));
    };
    let patch = patch.split(['-', '+']).next()?;
    Some((number(minor)?.try_into().ok()?, Some(number(patch)?)))
}

/// Parses a decimal number without leading zeros.
fn number(text: &str) -> Option<u32> {
    match text.as_bytes() {
        [b'+', ..] | [b'0', _, ..] => None,
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Release, ReleaseSet};

    #[test]
    fn versions_are_parsed() {
        for (text, expected) in [
            ("1.33", Some("1.33")),
            ("v1.33", Some("1.33")),
            ("1.33.0", Some("1.33.2")),
            ("1.33.3", Some("1.33.5")),
            ("1.33.5", Some("1.33.5")),
            ("v1.33.5-eks-abc", Some("1.33.5")),
            ("1.33.6", Some("1.33")),
            ("v1.33.6+k3s1", Some("1.33")),
            ("1.33.99", Some("1.33")),
            ("1.36.0-beta.1", Some("1.36.1")),
            ("1.29.1", None),
            ("v1.38.0-beta.0", Some("1.37")),
            ("1.38", Some("1.37")),
            ("1.39.0", None),
            ("2.33", None),
            ("1.33-eks", None),
            ("1.33.", None),
            ("1.33.+1", None),
            ("1.033", None),
            ("1.33.04", None),
            ("1.33.1.2", None),
            ("1.256", None),
            ("", None),
        ] {
            let release = text.parse::<Release>().ok();
            assert_eq!(release.map(Release::as_str), expected, "{text}");
        }
        for (version, is_newer) in [
            ("1.33", false),
            ("1.33.1", false),
            ("v1.33.99-gke.1", true),
            ("1.38", true),
        ] {
            assert_eq!(Release::is_newer_than_known(version), is_newer, "{version}");
        }
    }

    /// Every patch release belongs to one release, and each name selects its release.
    #[test]
    fn patch_releases_are_complete() {
        let mut next = (30, 0);
        for release in Release::ALL.iter().copied() {
            let patches = release.patches();
            assert_eq!((patches.minor, patches.first), next, "{release}");
            assert_eq!(release.as_str().parse(), Ok(release));
            let newest = release.newest_patch();
            assert_eq!(newest.parse(), Ok(release));
            next = if release.is_last_of_minor() {
                assert_eq!(release.as_str(), format!("1.{}", patches.minor));
                (patches.minor + 1, 0)
            } else {
                assert_eq!(release.as_str(), newest);
                (patches.minor, patches.last + 1)
            };
        }
    }

    #[test]
    fn sets_with_equal_rules_contain_each_release_once() {
        for sets in [
            super::STATUS_VERDICT_SETS,
            super::TEMPLATE_VERDICT_SETS,
            super::FINDING_SETS,
            super::STATUS_FINDING_SETS,
            super::TEMPLATE_FINDING_SETS,
        ] {
            let mut all = ReleaseSet::default();
            for set in sets {
                assert!(all.intersection(*set).is_empty(), "{set}");
                all = all.union(*set);
            }
            assert_eq!(all, ReleaseSet::all());
        }
    }
}

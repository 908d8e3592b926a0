//! Kubernetes releases whose rules the library implements, and sets of them.

use std::fmt;
use std::str::FromStr;

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

    /// Returns true if a version of a supported minor release is newer than each known patch release. The rules of the newest known one
    /// apply to it.
    pub fn is_newer_than_known(version: &str) -> bool {
        let Some((minor, Some(patch))) = parse_version(version) else {
            return false;
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
    ReleaseSet::of(&[Release::V1_32, Release::V1_33]).union(ReleaseSet::since(Release::V1_34));

/// Like [`STATUS_VERDICT_SETS`], for the template of a suspended Job.
pub(crate) const TEMPLATE_VERDICT_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30]),
    ReleaseSet::since(Release::V1_31).difference(ReleaseSet::since(Release::V1_36_1)),
    ReleaseSet::of(&[Release::V1_36_1]),
    ReleaseSet::since(Release::V1_36),
];

/// Releases with equal [`Finding`](crate::Finding)s. Values are formatted later and may differ in a set.
/// In 1.32, kube-apiserver changed its message about a `managedBy` that is too long.
pub(crate) const FINDING_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30, Release::V1_31]),
    ReleaseSet::since(Release::V1_32_6),
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
    ReleaseSet::since(Release::V1_36_1),
];

/// Like [`FINDING_SETS`], for the template of a suspended Job.
pub(crate) const TEMPLATE_FINDING_SETS: &[ReleaseSet] = &[
    ReleaseSet::of(&[Release::V1_30]),
    ReleaseSet::of(&[Release::V1_31]),
    ReleaseSet::since(Release::V1_32_6).difference(ReleaseSet::since(Release::V1_36_1)),
    ReleaseSet::of(&[Release::V1_36_1]),
    ReleaseSet::since(Release::V1_36),
];

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Set of releases. A single release converts to a set: `ReleaseSet::from(Release::V1_36)`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ReleaseSet(u32);

impl ReleaseSet {
    /// Returns all releases.
    pub const fn all() -> Self {
        Self::since(Release::OLDEST)
    }

    /// Returns a release and all newer ones.
    pub const fn since(release: Release) -> Self {
        Self(Self::of(Release::ALL).0 & !Self::bit(release).wrapping_sub(1))
    }

    const fn of(releases: &[Release]) -> Self {
        match releases {
            [first, rest @ ..] => Self(Self::bit(*first)).union(Self::of(rest)),
            [] => Self(0),
        }
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

    const fn bit(release: Release) -> u32 {
        1 << release as u32
    }
}

impl FromIterator<Release> for ReleaseSet {
    fn from_iter<I: IntoIterator<Item = Release>>(releases: I) -> Self {
        let with = |set: u32, release| set | Self::bit(release);
        Self(releases.into_iter().fold(0, with))
    }
}

impl From<Release> for ReleaseSet {
    fn from(release: Release) -> Self {
        Self(Self::bit(release))
    }
}

/// Formats ranges: `1.30 to 1.31, 1.32.0 to 1.32.9, 1.33 from 1.33.6, 1.34.2 to 1.37`.
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
            if index > 0 {
                f.write_str(", ")?;
            }
            write_run(f, *first, *last)?;
        }
        Ok(())
    }
}

/// Writes consecutive releases.
fn write_run(f: &mut fmt::Formatter<'_>, first: Release, last: Release) -> fmt::Result {
    let minor = first.minor();
    let patch = first.patches().first;
    match (first.is_first_of_minor(), last.is_last_of_minor()) {
        (true, true) => write!(f, "1.{minor}")?,
        (false, true) if minor == last.minor() => {
            return write!(f, "1.{minor} from 1.{minor}.{patch}");
        }
        (true, false) if minor != last.minor() => write!(f, "1.{minor}")?,
        _ => write!(f, "1.{minor}.{patch}")?,
    }
    if minor == last.minor() && (last.is_last_of_minor() || patch == last.patches().last) {
        return Ok(());
    }
    write!(f, " to {last}")
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
        f.write_str("expected a release from 1.30 to 1.37 (1.36 or 1.36.1)")
    }
}

impl std::error::Error for ParseReleaseError {}

impl FromStr for Release {
    type Err = ParseReleaseError;

    /// Parses a version: `1.33.4`, `v1.33.4-eks-abc`, or `1.33` for the newest patch release. Versions newer than the newest known patch
    /// release have its rules.
    fn from_str(text: &str) -> Result<Self, ParseReleaseError> {
        let (minor, patch) = parse_version(text).ok_or(ParseReleaseError)?;
        let all = Self::ALL.iter().copied();
        let mut same_minor = all.filter(|release| release.minor() == minor);
        let includes = |release: &Self| patch.is_some_and(|p| p <= release.patches().last.into());
        let found = same_minor.clone().find(includes);
        found.or(same_minor.next_back()).ok_or(ParseReleaseError)
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
    let is_canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_canonical)
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
            (&["1.32.6"], "1.32.0 to 1.32.6"),
            (&["1.32.9"], "1.32.7 to 1.32.9"),
            (&["1.32.6", "1.32.9"], "1.32.0 to 1.32.9"),
            (&["1.32.9", "1.32"], "1.32 from 1.32.7"),
            (&["1.32"], "1.32 from 1.32.10"),
            (&["1.31", "1.32.6"], "1.31 to 1.32.6"),
            (&["1.32", "1.33.2"], "1.32.10 to 1.33.2"),
            (&["1.34", "1.35"], "1.34.2 to 1.35"),
            (
                &[
                    "1.30", "1.32.6", "1.32.9", "1.32", "1.33.2", "1.33.5", "1.33", "1.37",
                ],
                "1.30, 1.32 to 1.33, 1.37",
            ),
            (
                &["1.32.9", "1.33.2", "1.33.5", "1.34.1", "1.34"],
                "1.32.7 to 1.32.9, 1.33.0 to 1.33.5, 1.34",
            ),
        ] {
            assert_eq!(set(names).to_string(), expected);
            assert_eq!(set(names).iter().count(), names.len());
            let newest = set(names).newest();
            assert_eq!(newest.map(Release::as_str), names.last().copied());
        }
        let (one, other) = (
            set(&["1.30", "1.31"]),
            set(&["1.31", "1.32.6", "1.32.9", "1.32"]),
        );
        assert_eq!(one.union(other).to_string(), "1.30 to 1.32");
        assert_eq!(one.difference(other).to_string(), "1.30");
        assert_eq!(ReleaseSet::all().to_string(), "1.30 to 1.37");
        let all: ReleaseSet = Release::ALL.iter().copied().collect();
        assert_eq!(ReleaseSet::all(), all);
    }

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
            ("1.38.0", None),
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
        for (version, is_newer) in [("1.33", false), ("1.33.1", false), ("v1.33.99-gke.1", true)] {
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

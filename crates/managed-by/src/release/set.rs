//! [`ReleaseSet`]: sets of releases.

use std::fmt;

use super::Release;

/// Set of releases. A single release converts to a set: `ReleaseSet::from(Release::V1_36)`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ReleaseSet(u32);

impl ReleaseSet {
    /// Returns all releases.
    pub const fn all() -> Self {
        Self::at_least(Release::OLDEST)
    }

    /// Returns the releases in which the feature gate `JobManagedBy` is on by default: 1.32 and newer. Without the gate, 1.30 and 1.31 drop
    /// `managedBy` from new Jobs.
    pub const fn with_managed_by_on_by_default() -> Self {
        Self::at_least(Release::V1_32_6)
    }

    /// Returns a release and all newer ones. A minor release, such as [`Release::V1_33`], includes all of its patch releases.
    pub fn since(release: Release) -> Self {
        if release.is_last_of_minor() {
            let minor = release.minor();
            let all = Release::ALL.iter().copied();
            return all.filter(|other| other.minor() >= minor).collect();
        }
        Self::at_least(release)
    }

    /// Returns a release and all newer ones, without older patch releases of the same minor release.
    pub(crate) const fn at_least(release: Release) -> Self {
        Self(Self::of(Release::ALL).0 & !Self::bit(release).wrapping_sub(1))
    }

    pub(super) const fn of(releases: &[Release]) -> Self {
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
        let mut releases = Release::ALL.iter().copied();
        let mut separator = "";
        while let Some(first) = releases.find(|release| self.contains(*release)) {
            let rest = releases.by_ref();
            let last = rest.take_while(|release| self.contains(*release)).last();
            f.write_str(separator)?;
            separator = ", ";
            write_run(f, first, last.unwrap_or(first))?;
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
}

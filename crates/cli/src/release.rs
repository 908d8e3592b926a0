//! Parses releases in arguments and in `managed-by.toml`.

use std::str::FromStr;

use managed_by::{ParseReleaseError, Release, ReleaseSet};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum ReleaseSelector {
    One(Release),
    /// Each of several releases, with its own verdict.
    Each(ReleaseSet),
}

impl TryFrom<String> for ReleaseSelector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for ReleaseSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = |e| format!("{e}, a range such as 1.31-1.33 or 1.31+, or all");
        let one = |text| parse_release(text).map_err(expected);
        let (first, last) = if text == "all" {
            return Ok(Self::Each(ReleaseSet::all()));
        } else if let Some(first) = text.strip_suffix('+') {
            (one(first)?, None)
        } else if let Some((first, last)) = text.split_once('-')
            && (parse_release(text).is_err() || minor(last).is_some())
        {
            (one(first)?, Some(one(last)?))
        } else {
            return one(text).map(Self::One);
        };
        let all = Release::ALL.iter().copied();
        let set: ReleaseSet = all
            .filter(|release| *release >= first && last.is_none_or(|last| *release <= last))
            .collect();
        match last {
            Some(last) if set.is_empty() => Err(format!("{last} is before {first}")),
            _ => Ok(Self::Each(set)),
        }
    }
}

/// Parses a release as written by users, kubectl and clusters: `1.36`, `v1.36.3`, `v1.36.3-eks-abc`.
pub(crate) fn parse_release(text: &str) -> Result<Release, ParseReleaseError> {
    minor(text).unwrap_or(text).parse()
}

/// Returns the minor release of a version, such as `1.36`.
fn minor(text: &str) -> Option<&str> {
    let version = text.strip_prefix('v').unwrap_or(text);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (minor, patch) = match version.match_indices('.').nth(1) {
        Some((dot, _)) => version.split_at_checked(dot)?,
        None => (version, ".0"),
    };
    let patch = patch.get(1..)?.split(['-', '+']).next()?;
    let (first, second) = minor.split_once('.')?;
    [first, second, patch]
        .into_iter()
        .all(is_number)
        .then_some(minor)
}

//! Parses a selection of releases, as in an argument, an option or a configuration file.

use std::str::FromStr;

use managed_by::{Release, ReleaseSet};
use serde::Deserialize;

/// Selected releases: `1.33.4`, `1.31-1.33`, `1.33+`, `1.33.4,1.36.3` or `all`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct ReleaseSelector {
    pub selection: Selection,
    /// Notes about versions that are newer than each known patch release.
    pub notes: Vec<String>,
}

/// One release or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    One(Release),
    /// Each of several releases, with its own verdict.
    Each(ReleaseSet),
}

impl Selection {
    pub fn releases(self) -> ReleaseSet {
        match self {
            Self::One(release) => release.into(),
            Self::Each(releases) => releases,
        }
    }
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
        let mut notes = Vec::new();
        let parts = text.split(',').map(|part| select(part.trim(), &mut notes));
        let parts: Vec<Selection> = parts.collect::<Result<_, _>>()?;
        let selection = if let [selection] = *parts {
            selection
        } else {
            let releases = parts.iter().flat_map(|part| part.releases().iter());
            Selection::Each(releases.collect())
        };
        Ok(Self { selection, notes })
    }
}

fn select(text: &str, notes: &mut Vec<String>) -> Result<Selection, String> {
    let mut one = |text: &str| -> Result<Release, String> {
        let release = text.parse::<Release>().map_err(|e| {
            format!("{e}, a range (1.31-1.33 or 1.31+), a list (1.33.4,1.36.3), or all")
        })?;
        notes.extend(note_newer_than_known(text));
        Ok(release)
    };
    let (first, last) = if text == "all" {
        return Ok(Selection::Each(ReleaseSet::all()));
    } else if let Some(first) = text.strip_suffix('+') {
        (first, None)
    } else if let Some((first, last)) = text.split_once('-')
        && (text.parse::<Release>().is_err() || last.starts_with("1.") || last.starts_with("v1."))
    {
        (first, Some(last))
    } else {
        return one(text).map(Selection::One);
    };
    let oldest = first_patch_release(one(first)?, first);
    let newer = Release::ALL.iter().copied();
    let since: ReleaseSet = newer.filter(|release| *release >= oldest).collect();
    let Some(last) = last else {
        return Ok(Selection::Each(since));
    };
    let newest = one(last)?;
    if newest < oldest {
        return Err(format!("{last} is before {first}"));
    }
    let through = |release: &Release| *release <= newest;
    Ok(Selection::Each(since.iter().filter(through).collect()))
}

/// Returns the first release of a minor release, if the text of a release has no patch version. A range begins there.
fn first_patch_release(release: Release, text: &str) -> Release {
    let is_minor = text.matches('.').count() == 1;
    let mut all = Release::ALL.iter().copied();
    let first = all.find(|first| first.minor() == release.minor());
    first.filter(|_| is_minor).unwrap_or(release)
}

/// Returns a note about a version that is newer than each known patch release.
pub fn note_newer_than_known(version: &str) -> Option<String> {
    let release = version.parse::<Release>().ok()?;
    let newest = release.newest_patch();
    let is_minor_known = version
        .trim_start_matches('v')
        .starts_with(release.as_str());
    let problem = if is_minor_known {
        "unknown patch release"
    } else {
        "beta release"
    };
    Release::is_newer_than_known(version)
        .then(|| format!("{version}: {problem}, evaluated as {newest}"))
}

#[cfg(test)]
mod tests {
    use super::ReleaseSelector;

    #[test]
    fn selectors_select_releases() {
        for (text, expected) in [
            ("1.33", "1.33 from 1.33.6"),
            ("1.33.4", "1.33.3 to 1.33.5"),
            ("1.33.99", "1.33 from 1.33.6"),
            ("1.33.4+", "1.33.3 to 1.37"),
            ("1.33+", "1.33 to 1.37"),
            ("1.33.4-1.34", "1.33.3 to 1.34"),
            ("1.33-1.34.0", "1.33 to 1.34.1"),
            ("v1.33.4-eks-1-v1.34.0-eks-2", "1.33.3 to 1.33.5"),
            ("1.33.4,1.36.3", "1.33.3 to 1.33.5, 1.36 from 1.36.2"),
            ("1.30-1.31, 1.36+", "1.30 to 1.31, 1.36 to 1.37"),
            ("1.38.0-beta.0", "1.37"),
            ("all", "1.30 to 1.37"),
        ] {
            let selector = text.parse::<ReleaseSelector>().unwrap();
            assert_eq!(
                selector.selection.releases().to_string(),
                expected,
                "{text}"
            );
            assert_eq!(
                !selector.notes.is_empty(),
                text.contains("99") || text.contains("38"),
                "{text}"
            );
        }
        for text in [
            "",
            "1.39",
            "1.34-1.33",
            "1.33,",
            "1.29+",
            "latest",
            "1.36.3-1.99",
        ] {
            assert!(text.parse::<ReleaseSelector>().is_err(), "{text}");
        }
    }
}

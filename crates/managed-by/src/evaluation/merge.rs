//! Merges the findings of several releases.

use super::{Finding, ReleaseMessage};
use crate::catalog;
use crate::description::Enforcement;
use crate::finding::RuleFinding;
use crate::release::{Release, ReleaseSet};

/// Finding in one or more releases.
///
/// Findings of two releases are merged if they have the same rule, enforcement, path and ordinal: the number of earlier findings of
/// the rule at that path.
pub(crate) struct MergedFinding<'a> {
    pub(crate) enforcement: Enforcement,
    ordinal: usize,
    /// Newest of the releases, with its finding.
    newest: (Release, RuleFinding<'a>),
    /// Findings of the releases, oldest first. Releases with equal findings share an entry.
    by_release: Vec<(ReleaseSet, RuleFinding<'a>)>,
}

impl<'a> MergedFinding<'a> {
    /// Returns the evaluated releases with this finding.
    pub(crate) fn releases(&self) -> ReleaseSet {
        let sets = self.by_release.iter().map(|(releases, _)| *releases);
        sets.fold(ReleaseSet::default(), ReleaseSet::union)
    }

    /// Returns the finding in the newest release of [`MergedFinding::releases`].
    pub(crate) fn newest(&self) -> &RuleFinding<'a> {
        &self.newest.1
    }

    /// Returns the error message of each release of [`MergedFinding::releases`], oldest first. Releases with the same message share an
    /// entry.
    fn messages(&self) -> Vec<ReleaseMessage> {
        let mut messages: Vec<ReleaseMessage> = Vec::new();
        for (releases, finding) in &self.by_release {
            let error = finding.error();
            for release in releases.iter() {
                let message = error.message(release);
                match messages.iter_mut().find(|known| known.message == message) {
                    Some(known) => known.releases = known.releases.union(release.into()),
                    None => messages.push(ReleaseMessage {
                        releases: release.into(),
                        error_type: error.error_type(),
                        message,
                        detail: error.detail().to_owned(),
                    }),
                }
            }
        }
        messages
    }

    /// Returns the findings for a message about all releases: one per error type, each from the newest release with that type.
    pub(super) fn representatives(&self) -> Vec<(Enforcement, &RuleFinding<'a>, Release)> {
        let (newest, finding) = &self.newest;
        let mut representatives = vec![(self.enforcement, finding, *newest)];
        for (releases, finding) in self.by_release.iter().rev() {
            let error_type = finding.error().error_type();
            let is_covered = representatives
                .iter()
                .any(|(_, known, _)| known.error().error_type() == error_type);
            if let (false, Some(release)) = (is_covered, releases.newest()) {
                representatives.push((self.enforcement, finding, release));
            }
        }
        representatives
    }

    fn add(&mut self, releases: ReleaseSet, finding: &RuleFinding<'a>) {
        match self.by_release.iter_mut().find(|(_, f)| f == finding) {
            Some((set, _)) => *set = set.union(releases),
            None => self.by_release.push((releases, finding.clone())),
        }
        let newest = releases.newest().unwrap_or_default();
        if newest > self.newest.0 {
            self.newest = (newest, finding.clone());
        }
    }
}

/// Returns true if two findings have the same rule and path.
fn has_same_rule_and_path(one: &RuleFinding<'_>, other: &RuleFinding<'_>) -> bool {
    one.rule() == other.rule() && one.error().path() == other.error().path()
}

/// Merges the findings of releases, in the order of the rules. Each list applies to the release set that it is paired with, except
/// for findings that have their own releases.
pub(crate) fn merge_findings<'a>(
    by_release: &[(ReleaseSet, &[(Enforcement, RuleFinding<'a>)])],
) -> Vec<MergedFinding<'a>> {
    let mut all: Vec<MergedFinding<'a>> = Vec::new();
    for (set, findings) in by_release {
        for (index, (enforcement, finding)) in findings.iter().enumerate() {
            let earlier = findings.iter().take(index);
            let ordinal = earlier
                .filter(|(_, f)| has_same_rule_and_path(f, finding))
                .count();
            let releases = finding.releases().unwrap_or(*set);
            let is_same = |known: &&mut MergedFinding<'_>| {
                (known.enforcement, known.ordinal) == (*enforcement, ordinal)
                    && has_same_rule_and_path(known.newest(), finding)
            };
            if let Some(known) = all.iter_mut().find(is_same) {
                known.add(releases, finding);
                continue;
            }
            let order = catalog::position(finding.rule());
            let index =
                all.partition_point(|known| catalog::position(known.newest().rule()) <= order);
            let found = MergedFinding {
                enforcement: *enforcement,
                ordinal,
                newest: (releases.newest().unwrap_or_default(), finding.clone()),
                by_release: vec![(releases, finding.clone())],
            };
            all.insert(index, found);
        }
    }
    all
}

impl Finding {
    /// Creates the owned form of a merged finding. `releases` of a finding that only some releases report, because no version is set, takes
    /// precedence over the evaluated releases.
    pub(super) fn new(merged: &MergedFinding<'_>, has_releases: bool) -> Self {
        let (release, newest) = &merged.newest;
        let error = newest.error();
        let mut messages = merged.messages();
        if messages.len() == 1 {
            messages.clear();
        }
        Self {
            rule: newest.rule(),
            enforcement: merged.enforcement,
            path: error.path().to_owned(),
            error_type: error.error_type(),
            message: error.message(*release),
            detail: error.detail().to_owned(),
            suggestion: error.suggestion().map(str::to_owned),
            is_upstream: newest.is_upstream(),
            releases: newest
                .releases()
                .or(has_releases.then(|| merged.releases())),
            messages,
        }
    }
}

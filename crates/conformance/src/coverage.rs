//! Compares the recorded transitions and exercised rules with the profiles.

use managed_by::{ReleaseSet, rule};
use managed_by_offline::profile::{PROFILES, Profile, STATUS, Transitions};

use super::report::{ConformanceOutcome, MissingPart, ProfileResult, RuleResult};

/// Rules and transitions that the writes exercised.
pub(super) struct Coverage<'c> {
    /// Evaluated releases.
    pub(super) releases: ReleaseSet,
    /// Results of the rules for the recorded kinds.
    pub(super) rules: &'c [RuleResult],
    /// Transitions of the recorded Jobs.
    pub(super) transitions: &'c Transitions,
}

/// Returns the results of all profiles, or of [`STATUS`] if no profile of Jobs is required.
pub(super) fn profile_results(
    required: &[&Profile],
    coverage: &Coverage<'_>,
) -> Vec<ProfileResult> {
    if required.is_empty() {
        return Vec::from_iter(coverage.status_profile());
    }
    let results = PROFILES.iter().map(|profile| {
        let missing = coverage.missing_parts(profile);
        ProfileResult {
            profile: profile.name,
            is_required: required.iter().any(|other| other.name == profile.name),
            exercised_in: coverage.exercised_in(&missing),
            missing,
        }
    });
    results.collect()
}

impl Coverage<'_> {
    /// Returns the result of [`STATUS`], if a kind has rules for the status.
    fn status_profile(&self) -> Option<ProfileResult> {
        let rules = self.rules.iter();
        let rules = rules.filter(|rule| rule.rule.starts_with("status/"));
        rules.clone().next()?;
        let missing = rules.filter_map(|rule| self.missing_rule(rule.rule));
        let missing: Vec<_> = missing.collect();
        Some(ProfileResult {
            profile: STATUS,
            is_required: true,
            exercised_in: self.exercised_in(&missing),
            missing,
        })
    }

    fn exercised_in(&self, missing: &[MissingPart]) -> ReleaseSet {
        let not_exercised = missing
            .iter()
            .fold(ReleaseSet::default(), |all, part| all.union(part.releases));
        self.releases.difference(not_exercised)
    }

    /// Returns the parts of a profile that no write exercised.
    fn missing_parts(&self, profile: &Profile) -> Vec<MissingPart> {
        let transitions = profile.transitions.iter();
        let transitions = transitions
            .filter(|transition| !self.transitions.contains(profile.name, transition.id))
            .map(|transition| MissingPart {
                id: transition.id,
                title: transition.title,
                releases: self.releases,
            });
        let rules = profile.rules.iter().copied();
        transitions
            .chain(rules.filter_map(|id| self.missing_rule(id)))
            .collect()
    }

    /// Returns the rule as a missing part, if a release has no write that exercises it.
    fn missing_rule(&self, id: &'static str) -> Option<MissingPart> {
        let releases = self.releases_without(id);
        (!releases.is_empty()).then(|| MissingPart {
            id,
            title: rule(id).map_or("", |rule| rule.documentation().title),
            releases,
        })
    }

    /// Returns the releases that have a rule but no write that exercises it.
    fn releases_without(&self, id: &str) -> ReleaseSet {
        let Some(rule) = self.rules.iter().find(|rule| rule.rule == id) else {
            return self.releases;
        };
        let results = rule.results.iter().zip(self.releases.iter());
        let without = results.filter(|(result, _)| {
            result.outcome != ConformanceOutcome::NotInRelease && result.exercised == 0
        });
        without.map(|(_, release)| release).collect()
    }
}

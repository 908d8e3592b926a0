//! Results of each rule, by release, and its warnings.

use std::collections::BTreeMap;

use managed_by::{Enforcement, Evaluation, Finding, ReleaseSet, Rule, rules};

use super::report::{ConformanceOutcome, RuleCounts, RuleResult, RuleWarning};
use super::writes::WriteLocation;

/// Results of the rules that apply to a recorded kind, by the id of the rule.
#[derive(Debug, Default)]
pub(super) struct RuleResults {
    /// One result per release.
    results: BTreeMap<&'static str, Vec<RuleCounts>>,
    warnings: BTreeMap<&'static str, RuleWarning>,
}

impl RuleResults {
    /// Counts the results of a write by rule and release. A rejected write exercises only the rules that deny it.
    pub(super) fn count(
        &mut self,
        releases: ReleaseSet,
        rules: &[(&'static Rule, bool)],
        denials: &[&Finding],
        is_rejected: bool,
    ) {
        for &(rule, is_exercised) in rules {
            let results = self
                .results
                .entry(rule.id())
                .or_insert_with(|| vec![RuleCounts::default(); releases.iter().count()]);
            let denying = denials.iter().filter(|finding| finding.rule == rule);
            let denying = denying.fold(ReleaseSet::default(), |all, finding| {
                all.union(finding.releases.unwrap_or_default())
            });
            let is_exercised = is_exercised && !(is_rejected && denying.is_empty());
            for (result, release) in results.iter_mut().zip(releases.iter()) {
                let exists = rule.exists_in(release);
                result.count_write(exists, is_exercised, denying.contains(release));
            }
        }
    }

    /// Counts the rules that warn about an accepted status write. Other writes are not only the controller's.
    pub(super) fn count_warnings(
        &mut self,
        evaluation: &Evaluation,
        object: &str,
        location: &WriteLocation,
    ) {
        let findings = evaluation.findings.iter();
        let warnings = findings.filter(|finding| {
            finding.enforcement == Enforcement::Warn && !finding.rule.is_upstream()
        });
        let rules: BTreeMap<_, _> = warnings
            .map(|finding| (finding.rule.id(), finding.rule))
            .collect();
        for (id, rule) in rules {
            let warning = self.warnings.entry(id).or_insert_with(|| RuleWarning {
                rule: id,
                title: rule.documentation().title,
                writes: 0,
                object: object.to_owned(),
                first_write: location.position.clone(),
            });
            warning.writes = warning.writes.saturating_add(1);
        }
    }

    /// Returns the results in the order in which kube-apiserver checks the rules, and the warnings.
    pub(super) fn finish(self) -> (Vec<RuleResult>, Vec<RuleWarning>) {
        let results = rules().iter().filter_map(|rule| {
            Some(RuleResult {
                rule: rule.id(),
                title: rule.documentation().title,
                is_upstream: rule.is_upstream(),
                results: self.results.get(rule.id())?.clone(),
            })
        });
        (results.collect(), self.warnings.into_values().collect())
    }
}

impl RuleCounts {
    /// Counts a write to which the rule applies.
    fn count_write(&mut self, exists: bool, is_exercised: bool, is_denied: bool) {
        if !exists {
            self.outcome = ConformanceOutcome::NotInRelease;
            return;
        }
        if is_exercised {
            self.exercised = self.exercised.saturating_add(1);
            if self.outcome == ConformanceOutcome::Untested {
                self.outcome = ConformanceOutcome::Passed;
            }
        }
        if is_denied {
            self.denied = self.denied.saturating_add(1);
            self.outcome = ConformanceOutcome::Denied;
        }
    }
}

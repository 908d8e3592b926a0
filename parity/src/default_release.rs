//! Checks the verdict under settings without `kubernetes_version` against the verdicts for each release.

use anyhow::{Result, ensure};
use managed_by::{AdmissionRequest, Release, ReleaseSet, Settings, evaluate, review};

use crate::vector::Case;

/// Counts of checked cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaseCounts {
    pub cases: u64,
    /// Cases that all releases deny.
    pub denied: u64,
    /// Cases that only some releases deny. The policy allows them with warnings that list these releases.
    pub version_dependent: u64,
}

impl CaseCounts {
    /// Checks a case: it is denied if all releases deny it, and else allowed, with warnings that list the releases that deny it.
    pub fn check(&mut self, case: &Case) -> Result<()> {
        self.cases = self.cases.saturating_add(1);
        let text = case.request().to_string();
        let Ok(request) = AdmissionRequest::from_json(text.as_bytes()) else {
            return Ok(());
        };
        let denies = |release: &Release| {
            let settings = Settings::for_release(*release).for_tools();
            !review(&request, &settings).decision.is_allowed()
        };
        let denying: ReleaseSet = Release::ALL.iter().copied().filter(denies).collect();
        let settings = Settings::default().for_tools();
        let evaluation = evaluate(&request, &settings, None);
        let verdict = &evaluation.verdict;
        let listed = evaluation.findings.iter();
        let listed = listed.filter_map(|finding| finding.releases);
        let listed = listed.fold(ReleaseSet::default(), ReleaseSet::union);
        let expected = if denying == ReleaseSet::all() {
            self.denied = self.denied.saturating_add(1);
            (false, ReleaseSet::default())
        } else {
            let is_version_dependent = u64::from(!denying.is_empty());
            self.version_dependent = self.version_dependent.saturating_add(is_version_dependent);
            (true, denying)
        };
        ensure!(
            (verdict.decision.is_allowed(), listed) == expected,
            "{}: denied by {denying}; without kubernetes_version: allowed = {}, releases in warnings: {listed}",
            case.name,
            verdict.decision.is_allowed()
        );
        Ok(())
    }
}

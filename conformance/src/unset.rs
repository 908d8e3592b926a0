//! What the policy says while its settings choose no release, beside what it says for each.

use anyhow::{Result, ensure};
use managed_by::{AdmissionRequest, Release, ReleaseSet, Settings, review};

use crate::vector::Case;

/// How many cases were looked at, and what was said of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All cases.
    pub cases: u64,
    /// Those that are denied, by all releases.
    pub denied: u64,
    /// Those that some releases deny and others accept: they are accepted with warnings that name the releases.
    pub disputed: u64,
}

impl Counts {
    /// Looks at a case.
    ///
    /// # Errors
    /// If it is denied without a release although a release accepts it, or the other way round, or if the warnings do not
    /// name the releases that deny it.
    pub fn add(&mut self, case: &Case) -> Result<()> {
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
        let verdict = review(&request, &settings);
        let named = verdict.findings.iter();
        let named = named.filter_map(|(_, finding)| finding.releases());
        let named = named.fold(ReleaseSet::default(), ReleaseSet::union);
        let expected = if denying == ReleaseSet::all() {
            self.denied = self.denied.saturating_add(1);
            (false, ReleaseSet::default())
        } else {
            let is_disputed = u64::from(!denying.is_empty());
            self.disputed = self.disputed.saturating_add(is_disputed);
            (true, denying)
        };
        ensure!(
            (verdict.decision.is_allowed(), named) == expected,
            "{}: denied by {denying}; without a release allowed: {}, releases named: {named}",
            case.name,
            verdict.decision.is_allowed()
        );
        Ok(())
    }
}

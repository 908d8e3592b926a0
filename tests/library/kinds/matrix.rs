//! Kind by rule by verdict: every rule that is for a kind answers to the questions of `xtask/src/kinds/questions.rs`.

use managed_by::{kinds, rules};
use xtask::kinds::questions::verdicts_by;

use crate::support::review;

/// What the questions do not ask: a Job's template and status, which are held to upstream's answers, pods, large objects.
const ELSEWHERE: [&str; 4] = [
    "job-spec/",
    "job-status/",
    "pods/",
    "managed-by/updates-too-large",
];

#[test]
fn every_rule_of_every_kind_answers() {
    for kind in kinds() {
        let mut verdicts = verdicts_by(kind, review).unwrap();
        verdicts.retain(|id, _| !id.starts_with("job-status/"));
        let judging = rules().iter().filter(|rule| rule.applies_to(kind));
        let ids = judging.map(|rule| rule.id());
        let asked = ids.filter(|id| !ELSEWHERE.iter().any(|part| id.starts_with(part)));
        // The API of a kind that it defaults writes the value by itself, so that the rule has nothing to say.
        let is_silent = |id: &str| id == "managed-by/reserved" && kind.is_defaulted();
        let mut expected: Vec<_> = asked.filter(|id| !is_silent(id)).collect();
        expected.sort_unstable();
        let fired: Vec<_> = verdicts.keys().copied().collect();
        assert_eq!(fired, expected, "{}", kind.name());
        for (id, verdict) in &verdicts {
            let default = managed_by::rule(id).unwrap().default_enforcement();
            assert_eq!(*verdict, default, "{id}: {}", kind.name());
        }
    }
}

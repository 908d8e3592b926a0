//! Kind by rule by verdict: every rule that is for a kind answers to the questions that docs/kinds.md is made with.

use managed_by::{Kind, kinds};
use xtask::kinds::questions::verdicts_by;

use crate::support::everywhere;

/// The rules that are for all kinds with a field that is judged in this way.
fn common(kind: &Kind<'_>) -> Vec<&'static str> {
    let mut common = vec![
        "managed-by/wrong-kind",
        "managed-by/allowed",
        "managed-by/delegation",
        "managed-by/reserved-domain",
    ];
    // Its API writes the value by itself.
    if !kind.is_defaulted() {
        common.push("managed-by/reserved");
    }
    if kind.has_status_rules() {
        common.extend(["status-writer/delegated", "status-writer/standard"]);
    }
    common
}

#[test]
fn every_rule_of_every_kind_answers() {
    for kind in kinds() {
        let mut verdicts = verdicts_by(kind, everywhere).unwrap();
        // A Job's status has rules of its own, held to upstream's answers.
        verdicts.retain(|id, _| !id.starts_with("job-status/"));
        let mut expected: Vec<_> = kind.rules();
        expected.extend(common(kind));
        expected.sort_unstable();
        let fired: Vec<_> = verdicts.keys().copied().collect();
        assert_eq!(fired, expected, "{}", kind.name());
        for (id, verdict) in &verdicts {
            let default = managed_by::rule(id).unwrap().default_enforcement();
            assert_eq!(*verdict, default, "{id}: {}", kind.name());
        }
    }
}

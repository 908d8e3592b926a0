//! Matrix of kinds and rules: each rule fires, at its default level, for each kind that it applies to.

use managed_by::{kinds, rules};

use super::invalid_requests::levels_of_fired_rules;

/// Prefixes of rules that other tests cover: a Job's template and status, pods, and large objects.
const COVERED_ELSEWHERE: [&str; 5] = [
    "job-conventions/",
    "job-spec/",
    "job-status/",
    "pods/",
    "managed-by/object-too-large",
];

#[test]
fn each_rule_fires_for_each_kind_at_its_default_level() {
    for kind in kinds() {
        let mut levels = levels_of_fired_rules(kind);
        levels.retain(|id, _| !id.starts_with("job-status/"));
        let applicable = rules()
            .iter()
            .filter(|rule| rule.applies_to(kind) && !rule.is_for_manifests());
        let ids = applicable.map(|rule| rule.id());
        let tested = ids.filter(|id| {
            !COVERED_ELSEWHERE
                .iter()
                .any(|prefix| id.starts_with(prefix))
        });
        // If the API defaults the field to the reserved value, the rule does not fire.
        let is_defaulted = |id: &str| id == "managed-by/reserved" && kind.is_defaulted();
        let mut expected: Vec<_> = tested.filter(|id| !is_defaulted(id)).collect();
        expected.sort_unstable();
        let fired: Vec<_> = levels.keys().copied().collect();
        assert_eq!(fired, expected, "{}", kind.name());
        for (id, level) in &levels {
            let default = managed_by::rule(id).unwrap().default_enforcement();
            assert_eq!(*level, default, "{id}: {}", kind.name());
        }
    }
}

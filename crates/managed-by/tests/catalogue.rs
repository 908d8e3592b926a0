//! What holds for every rule of the registry.

use managed_by::{Anchor, rule as find, rules};

/// An id is API: settings and dashboards name it. Whoever changes this list changes that.
#[test]
fn ids_are_these() {
    assert_eq!(
        rules().iter().map(|rule| rule.id()).collect::<Vec<_>>(),
        [
            "managed-by/format",
            "job-spec/scheduling-directives",
            "managed-by/immutable",
            "job-status/negative-counter",
            "job-status/uncounted-uids",
            "job-status/complete-and-failed",
            "job-status/complete-and-failure-target",
            "job-status/completion-time-without-complete",
            "job-status/complete-without-completion-time",
            "job-status/completion-time-before-start-time",
            "job-status/failed-without-failure-target",
            "job-status/complete-without-success-criteria-met",
            "job-status/finished-with-active-pods",
            "job-status/finished-without-start-time",
            "job-status/finished-with-uncounted-pods",
            "job-status/invalid-completed-indexes",
            "job-status/invalid-failed-indexes",
            "job-status/completed-indexes-non-indexed",
            "job-status/failed-indexes-without-backoff-limit-per-index",
            "job-status/failed-indexes-overlap-completed",
            "job-status/finished-with-terminating-pods",
            "job-status/ready-exceeds-active",
            "job-status/success-criteria-met-non-indexed",
            "job-status/success-criteria-met-and-failed",
            "job-status/success-criteria-met-and-failure-target",
            "job-status/success-criteria-met-without-success-policy",
            "job-status/success-policy-without-success-criteria-met",
            "job-status/terminal-condition-disabled",
            "job-status/failed-decreased",
            "job-status/succeeded-decreased",
            "job-status/completion-time-changed",
            "job-status/start-time-changed",
            "job-status/success-criteria-met-disabled",
            "job-status/success-criteria-met-after-complete",
            "managed-by/reserved",
            "managed-by/reserved-domain",
            "managed-by/wrong-kind",
            "managed-by/unchecked-format",
            "managed-by/pruned-version",
            "managed-by/updates-too-large",
            "managed-by/closed-set",
            "managed-by/nested",
            "managed-by/allowed",
            "managed-by/delegation",
            "status-writer/delegated",
            "status-writer/standard",
            "status/outcome-changed",
            "status/two-outcomes",
            "status/terminal-state",
            "status/exclusive-conditions",
            "status/negative-counter",
            "status/counter-decreased",
            "status/end-before-start",
            "status/end-without-outcome",
            "status/outcome-without-end",
            "pods/delegated-owner",
        ]
    );
}

#[test]
fn ids_are_unique_and_kebab_case() {
    for &rule in rules() {
        let (family, name) = rule.id().split_once('/').unwrap();
        for part in [family, name] {
            let lower = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(!part.is_empty() && part.chars().all(lower), "{rule:?}");
        }
        assert_eq!(find(rule.id()), Some(rule));
        assert_eq!(format!("{rule:?}"), rule.id());
        assert_eq!(
            rules().iter().filter(|r| r.id() == rule.id()).count(),
            1,
            "{rule:?}"
        );
    }
    assert_eq!(find("managed-by/none"), None);
}

#[test]
fn every_rule_is_documented_and_anchored() {
    for &rule in rules() {
        assert!(
            !rule.documentation().title.is_empty() && !rule.documentation().title.ends_with('.'),
            "{rule:?}"
        );
        assert!(rule.documentation().text.len() > 50, "{rule:?}");
        assert!(rule.documentation().fix.ends_with('.'), "{rule:?}");
        match *rule.anchor() {
            Anchor::Upstream {
                function,
                since,
                until,
                ..
            } => {
                assert!(!function.is_empty(), "{rule:?}");
                assert!(until.is_none_or(|until| since <= until), "{rule:?}");
            }
            Anchor::Ours { source } => assert!(!source.is_empty(), "{rule:?}"),
        }
    }
}

//! Every rule's own examples, on every front end, and under each level.

use crate::support::{Answer, review};
use managed_by::{Example, rule as find, rules};
use serde_json::{Value, from_str};

fn answer(example: &Example) -> Answer {
    let request: Value = from_str(&example.full_request()).unwrap();
    let settings: Value = from_str(example.settings).unwrap();
    review(&request, &settings)
}

#[test]
fn the_accepted_example_of_each_rule_passes_in_silence() {
    for &rule in rules() {
        let answer = answer(&rule.documentation().accepted);
        assert!(answer.allowed, "{rule:?}: {answer:?}");
        assert_eq!(answer.warnings, Vec::<String>::new(), "{rule:?}");
    }
}

/// The rejected example of each rule is denied by it alone. What denies warns when it is told to, with the same words but for the type,
/// and is silent when it is off.
#[test]
fn the_rejected_example_of_each_rule_is_denied_by_it_alone_and_by_its_level() {
    for &rule in rules() {
        let docs = rule.documentation();
        let request: Value = from_str(&docs.rejected.full_request()).unwrap();
        let with = |level: &str| {
            let mut settings: Value = from_str(docs.rejected.settings).unwrap();
            settings["rules"][rule.id()] = level.into();
            review(&request, &settings)
        };
        let (as_shown, deny, warn, off) = (
            answer(&docs.rejected),
            with("deny"),
            with("warn"),
            with("off"),
        );
        let [fired] = deny.denied()[..] else {
            panic!("{rule:?}: {deny:?}");
        };
        assert_eq!(fired.split(' ').next(), Some(rule.id()));
        assert_eq!(as_shown.denied(), [fired], "{rule:?}");
        for denied in [as_shown, deny.clone()] {
            assert_eq!(denied.warned(), Vec::<&str>::new(), "{rule:?}");
            let of_access = [
                "managed-by/delegation",
                "pods/delegated-owner",
                "status-writer/delegated",
                "status-writer/standard",
            ];
            let is_of_access = of_access.contains(&rule.id());
            let code = if is_of_access { 403 } else { 422 };
            let verdict = (denied.allowed, denied.code);
            assert_eq!(verdict, (false, Some(code)), "{rule:?}");
        }
        let [warning] = &warn.warnings[..] else {
            panic!("{rule:?}: {warn:?}");
        };
        assert!(warning.ends_with(&format!(" [{}]", rule.id())), "{warning}");
        assert!(warning.len() <= 256, "{warning}");
        for (passed, warned) in [(warn, &[fired][..]), (off, &[])] {
            assert_eq!((passed.allowed, passed.code), (true, None), "{rule:?}");
            assert_eq!(passed.denied(), Vec::<&str>::new(), "{rule:?}");
            assert_eq!(passed.warned(), warned, "{rule:?}");
            assert_eq!(passed.warnings.len(), warned.len(), "{rule:?}");
        }
    }
}

/// An id is API: settings and dashboards name it.
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
    }
    assert_eq!(find("managed-by/none"), None);
}

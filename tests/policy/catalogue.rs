//! Every rule's own examples, on every front end, and under each level.

use crate::support::{Answer, everywhere};
use managed_by::{Anchor, Example, rule as find, rules};
use serde_json::{Value, from_str};

fn answer(example: &Example) -> Answer {
    let request: Value = from_str(&example.full_request()).unwrap();
    let settings: Value = from_str(example.settings).unwrap();
    everywhere(&request, &settings)
}

#[test]
fn the_accepted_example_of_each_rule_passes_in_silence() {
    for &rule in rules() {
        let answer = answer(&rule.documentation().accepted);
        assert!(answer.allowed, "{rule:?}: {answer:?}");
        assert_eq!(answer.warnings, Vec::<String>::new(), "{rule:?}");
    }
}

#[test]
fn the_rejected_example_of_each_rule_is_denied_by_it_alone() {
    for &rule in rules() {
        let answer = answer(&rule.documentation().rejected);
        let denied: Vec<_> = answer
            .denied()
            .iter()
            .map(|d| d.split(' ').next().unwrap())
            .collect();
        assert_eq!(denied, [rule.id()], "{answer:?}");
        assert_eq!(answer.warned(), Vec::<&str>::new(), "{rule:?}");
        let of_access = [
            "managed-by/delegation",
            "pods/delegated-owner",
            "status-writer/delegated",
            "status-writer/standard",
        ];
        let code = if of_access.contains(&rule.id()) {
            403
        } else {
            422
        };
        assert_eq!(answer.code, Some(code), "{rule:?}");
    }
}

/// What denies warns when it is told to, with the same words but for the type, and is silent when it is off.
#[test]
fn every_rule_can_be_set_to_deny_warn_and_off() {
    for &rule in rules() {
        let request: Value = from_str(&rule.documentation().rejected.full_request()).unwrap();
        let with = |enforcement: &str| {
            let mut settings: Value = from_str(rule.documentation().rejected.settings).unwrap();
            settings["rules"][rule.id()] = enforcement.into();
            everywhere(&request, &settings)
        };
        let (deny, warn, off) = (with("deny"), with("warn"), with("off"));
        let fired = deny
            .denied()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        assert_eq!(fired.len(), 1, "{rule:?}");
        assert_eq!((deny.allowed, deny.warned()), (false, vec![]), "{rule:?}");
        assert_eq!(
            (warn.allowed, warn.denied(), warn.code),
            (true, vec![], None),
            "{rule:?}"
        );
        assert_eq!(warn.warned(), fired, "{rule:?}");
        let [warning] = &warn.warnings[..] else {
            panic!("{rule:?}: {warn:?}");
        };
        assert!(warning.ends_with(&format!(" [{}]", rule.id())), "{warning}");
        assert!(warning.len() <= 256, "{warning}");
        assert_eq!(
            (off.allowed, off.warned(), off.denied()),
            (true, vec![], vec![]),
            "{rule:?}"
        );
        assert_eq!(off.warnings, Vec::<String>::new(), "{rule:?}");
    }
}

/// An id is API: settings and dashboards name it. Whoever changes `ids.txt`, which nothing writes, changes that.
#[test]
fn ids_are_unique_and_kebab_case() {
    let ids: Vec<_> = rules().iter().map(|rule| rule.id()).collect();
    let listed: Vec<_> = include_str!("ids.txt").lines().collect();
    assert_eq!(ids, listed, "tests/policy/ids.txt");
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

/// A page has no empty part, and puts a dot behind the title.
#[test]
fn a_title_is_no_sentence_and_what_to_do_is_one() {
    for rule in rules() {
        let docs = rule.documentation();
        let (Anchor::Upstream { function: from, .. } | Anchor::Ours { source: from }) =
            *rule.anchor();
        let is_told = !docs.title.is_empty() && !from.is_empty() && docs.text.len() > 50;
        assert!(is_told, "{rule:?}");
        let has_dots = [docs.title, docs.fix].map(|text| text.ends_with('.'));
        assert_eq!(has_dots, [false, true], "{rule:?}");
    }
}

//! Every rule's own examples, on every front end.

use crate::support::{Answer, everywhere};
use managed_by::Example;
use managed_by::rules;
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

//! The accepted and rejected example in each rule's documentation, with each enforcement level.

use managed_by::{
    Example, Rule, SETTINGS_REFERENCE, queue_rule, rule as find, rules, with_absolute_links,
};
use managed_by_testing::library::{ValidationResponse, validate_example};
use managed_by_testing::root;
use serde_json::{Value, from_str};

fn validate(rule: &Rule, example: &Example) -> ValidationResponse {
    let request: Value = from_str(&example.full_request()).unwrap();
    let settings: Value = from_str(example.settings).unwrap();
    validate_example(rule, &request, &settings)
}

/// Returns the code of a denial by a rule, with its path: 403 if the rule is about access.
pub(crate) fn code_of(fired: &str) -> u16 {
    match fired.split(' ').next().unwrap() {
        "managed-by/delegation"
        | "pods/delegated-owner"
        | "status-writer/delegated"
        | "status-writer/builtin" => 403,
        _ => 422,
    }
}

#[test]
fn accepted_example_of_each_rule_passes_without_warnings() {
    for rule in rules().iter().copied().chain([queue_rule()]) {
        let response = validate(rule, &rule.documentation().accepted);
        assert!(response.allowed, "{rule:?}: {response:?}");
        assert_eq!(response.warnings, Vec::<String>::new(), "{rule:?}");
    }
}

/// With `deny` only this rule denies the example, with `warn` it produces one warning, and with `off` none.
#[test]
fn rejected_example_of_each_rule_fires_only_that_rule() {
    for &rule in rules() {
        let docs = rule.documentation();
        let request: Value = from_str(&docs.rejected.full_request()).unwrap();
        let with = |level: &str| {
            let mut settings: Value = from_str(docs.rejected.settings).unwrap();
            settings["rules"][rule.id()] = level.into();
            validate_example(rule, &request, &settings)
        };
        let (as_shown, deny, warn, off) = (
            validate(rule, &docs.rejected),
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
            let verdict = (denied.allowed, denied.code);
            assert_eq!(verdict, (false, Some(code_of(fired))), "{rule:?}");
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

/// Settings, metrics and dashboards refer to rule ids.
#[test]
fn rule_ids_are_unique_and_kebab_case() {
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

/// The links that tools print lead to the tag of this version, and to files in this repository.
#[test]
fn printed_links_lead_to_files_of_this_version() {
    let url = "https://github.com/managed-by-policy/managed-by-policy/blob/v";
    let url = format!("{url}{}/", env!("CARGO_PKG_VERSION"));
    let rules = || rules().iter().copied().chain([queue_rule()]);
    let docs = rules().map(Rule::documentation);
    let texts = docs.flat_map(|docs| [with_absolute_links(docs.text), docs.fix.to_owned()]);
    let settings = SETTINGS_REFERENCE.iter();
    let texts = texts.chain(settings.map(|key| with_absolute_links(key.text)));
    let text = texts.collect::<String>();
    let in_texts = text.split("](").skip(1).map(ToOwned::to_owned);
    for link in rules().map(Rule::page_url).chain(in_texts) {
        let Some(rest) = link.strip_prefix(&url) else {
            assert!(link.starts_with("https://github.com/kubernetes/"), "{link}");
            continue;
        };
        let file = rest.split(['#', ')']).next().unwrap();
        assert!(root(file).is_file(), "{link}");
    }
}

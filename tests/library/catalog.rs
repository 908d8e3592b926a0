//! The accepted and rejected example in each rule's documentation, with each enforcement level.

use managed_by::{
    Example, FILES_URL, Rule, SETTINGS_REFERENCE, queue_rule, rule as find, rules,
    with_absolute_links,
};
use managed_by_testing::library::{ValidationResponse, validate_example};
use managed_by_testing::root;
use serde_json::{Value, from_str};

fn validate(rule: &Rule, example: &Example) -> ValidationResponse {
    let request: Value = from_str(&example.full_request()).unwrap();
    let settings: Value = from_str(example.settings).unwrap();
    validate_example(rule, &request, &settings)
}

#[test]
fn accepted_example_of_each_rule_passes_without_warnings() {
    for &rule in rules() {
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
            let access_rules = [
                "managed-by/delegation",
                "pods/delegated-owner",
                "status-writer/delegated",
                "status-writer/builtin",
            ];
            let code = if access_rules.contains(&rule.id()) {
                403
            } else {
                422
            };
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

/// The links that tools print lead to files of the printing version: to its tag, and to files in this repository.
#[test]
fn printed_links_lead_to_files_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let repository = "https://github.com/managed-by-policy/managed-by-policy";
    assert_eq!(FILES_URL, format!("{repository}/blob/v{version}"));
    let rules = || rules().iter().copied().chain([queue_rule()]);
    let texts = rules().map(|rule| with_absolute_links(rule.documentation().text));
    let other = rules().flat_map(|rule| {
        let docs = rule.documentation();
        [docs.title, docs.fix].map(str::to_owned)
    });
    let settings = SETTINGS_REFERENCE.iter();
    let settings = settings.map(|key| with_absolute_links(key.text));
    let texts: Vec<_> = texts.chain(other).chain(settings).collect();
    let in_texts = texts.iter().flat_map(|text| text.split("](").skip(1));
    let in_texts = in_texts.filter_map(|link| Some(link.split_once(')')?.0.to_owned()));
    let mut count = 0;
    for link in in_texts.chain(rules().map(Rule::page_url)) {
        assert!(link.starts_with("https://"), "{link}");
        if let Some(file) = link.strip_prefix(FILES_URL) {
            let path = file.split('#').next().unwrap();
            assert!(root(path.trim_start_matches('/')).is_file(), "{link}");
            count += 1;
        }
    }
    assert!(count > rules().count(), "{count}");
}

use super::{ReservedValue, Settings};
use crate::catalogue::RULES;
use crate::release::Release;
use crate::rule::Enforcement;

fn problems(json: &str) -> Vec<String> {
    match Settings::from_json(json.as_bytes()) {
        Ok(settings) => panic!("{json} is valid: {settings:?}"),
        Err(problems) => problems
            .as_slice()
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}

#[test]
fn empty_and_absent_settings_are_the_default() {
    for json in [
        "{}",
        "null",
        " { } ",
        r#"{"rules":null,"kubernetes_version":null,"reserved_value":null}"#,
        r#"{"rules":{"managed-by/format":null}}"#,
    ] {
        assert_eq!(
            Settings::from_json(json.as_bytes()),
            Ok(Settings::default()),
            "{json}"
        );
    }
}

#[test]
fn every_key_is_read() {
    let json = r#"{"kubernetes_version":"1.31","reserved_value":"deny","rules":{"managed-by/format":"off","managed-by/wrong-kind":"deny"}}"#;
    let settings = Settings::from_json(json.as_bytes()).unwrap();
    assert_eq!(settings.kubernetes_version, Release::V1_31);
    assert_eq!(settings.reserved_value, ReservedValue::Deny);
    assert_eq!(
        settings.enforcement("managed-by/format"),
        Some(Enforcement::Off)
    );
    assert_eq!(
        settings.enforcement("managed-by/wrong-kind"),
        Some(Enforcement::Deny)
    );
    assert_eq!(
        settings.enforcement("managed-by/immutable"),
        Some(Enforcement::Deny)
    );
    assert_eq!(settings.enforcement("managed-by/x"), None);
}

#[test]
fn every_release_can_be_chosen() {
    for release in Release::ALL {
        let json = format!(r#"{{"kubernetes_version":"{}"}}"#, release.as_str());
        let settings = Settings::from_json(json.as_bytes()).unwrap();
        assert_eq!(settings.kubernetes_version, release);
    }
}

const RELEASES: &str = r#""1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37""#;

#[test]
fn a_version_that_yaml_took_for_a_number_is_told_how_to_write_it() {
    for (got, meant) in [
        ("1.3", "1.30"),
        ("1.37", "1.37"),
        ("1.4", "1.37"),
        ("30", "1.37"),
    ] {
        assert_eq!(
            problems(&format!(r#"{{"kubernetes_version":{got}}}"#)),
            [format!(
                "kubernetes_version: got the number {got}, expected a string, one of {RELEASES}; write it in quotes, such as \"{meant}\""
            )]
        );
    }
}

#[test]
fn all_problems_are_told_at_once() {
    assert_eq!(
        problems(r#"{"reservedValue":"deny","kubernetes_version":"1.38","reserved_value":"Alow","rules":{"managed-by/imutable":"warn","managed-by/format":"error","managed-by/reserved":true,"managed-by/reserved":"off"}}"#),
        [
            r#""reservedValue": settings has no such key, expected one of kubernetes_version, reserved_value, role, controllers, namespaces, standard_status_writers, exempt, rules; did you mean "reserved_value"?"#.to_owned(),
            format!(r#"kubernetes_version: got "1.38", expected a string, one of {RELEASES}; did you mean "1.37"?"#),
            r#"reserved_value: got "Alow", expected one of allow, deny; did you mean "allow"?"#.to_owned(),
            format!(
                r#"rules["managed-by/imutable"]: rules has no such key, expected one of {}; did you mean "managed-by/immutable"?"#,
                RULES.map(|rule| rule.id).join(", ")
            ),
            r#"rules["managed-by/format"]: got "error", expected one of deny, warn, off"#.to_owned(),
            r#"rules["managed-by/reserved"]: got true, expected one of deny, warn, off"#.to_owned(),
            r#"rules["managed-by/reserved"]: given twice"#.to_owned(),
        ]
    );
}

#[test]
fn wrong_types_are_told() {
    for (json, problem) in [
        ("[]", "settings: got an array, expected an object"),
        (r#""deny""#, r#"settings: got "deny", expected an object"#),
        ("1", "settings: got the number 1, expected an object"),
        ("", "settings: not JSON: expected a value at byte 0"),
        ("{", "settings: not JSON: expected a key at byte 1"),
        ("{} x", "settings: not JSON: expected the end at byte 3"),
        (
            r#"{"rules":[]}"#,
            "rules: got an array, expected an object of rule ids, each deny, warn or off",
        ),
        (
            r#"{"reserved_value":{}}"#,
            "reserved_value: got an object, expected one of allow, deny",
        ),
        (
            r#"{"reserved_value":"deny","reserved_value":"deny"}"#,
            "reserved_value: given twice",
        ),
    ] {
        assert_eq!(problems(json), [problem], "{json}");
    }
}

#[test]
fn one_problem_reads_as_a_sentence_and_several_are_numbered() {
    let text = |json: &str| {
        Settings::from_json(json.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        text("[]"),
        "invalid settings: settings: got an array, expected an object"
    );
    assert_eq!(
        text(r#"{"reserved_value":1,"rules":1}"#),
        "2 problems in the settings: (1) reserved_value: got the number 1, expected one of allow, deny; (2) rules: got the number 1, expected an object of rule ids, each deny, warn or off"
    );
}

#[test]
fn long_values_are_not_repeated() {
    let long = "x".repeat(1000);
    let [problem] = &problems(&format!(r#"{{"reserved_value":"{long}"}}"#))[..] else {
        panic!("one problem");
    };
    assert_eq!(
        problem,
        "reserved_value: got a string of 1000 bytes, expected one of allow, deny"
    );
}

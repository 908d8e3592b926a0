use super::{ReservedValue, Settings};
use crate::catalogue::rules;
use crate::description::Enforcement;
use crate::release::Release;

/// Everything that is wrong with settings.
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

/// `problems.txt` has settings on a line each, and indented below them everything that is wrong. `UPDATE_EXPECT=1` writes it.
#[test]
fn every_problem_is_told_with_its_path() {
    let rules: Vec<_> = rules().iter().map(|rule| rule.id).collect();
    let kinds: Vec<_> = super::kinds().collect();
    let lists = [
        (rules.join(", "), "EVERY RULE"),
        (kinds.join(", "), "EVERY KIND"),
    ];
    let mut all = String::new();
    for line in include_str!("problems.txt").lines() {
        if !line.starts_with("    ") {
            all.extend([line, "\n"]);
        }
        if line.starts_with(['{', '[', '"', '1']) {
            for mut problem in problems(line) {
                for (list, name) in &lists {
                    problem = problem.replace(list, name);
                }
                all.extend(["    ", &problem, "\n"]);
            }
        }
    }
    expect_test::expect_file!["problems.txt"].assert_eq(&all);
}

/// What is no line of a file.
#[test]
fn what_is_not_json_is_told() {
    for (json, problem) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("{} x", "trailing characters at line 1 column 4"),
    ] {
        assert_eq!(problems(json), [format!("settings: not JSON: {problem}")]);
    }
}

#[test]
fn an_entry_may_ask_for_labels() {
    for right in [
        r#"{"matchLabels":{"a/b":"c"},"delegation":"allowed"}"#,
        r#"{"match":["x"],"matchLabels":{"a":"b"},"delegation":"allowed"},{"match":["x"],"delegation":"required"}"#,
    ] {
        let json = format!(r#"{{"namespaces":[{right}]}}"#);
        assert!(Settings::from_json(json.as_bytes()).is_ok(), "{right}");
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
    assert_eq!(settings.kubernetes_version(), Some(Release::V1_31));
    assert_eq!(settings.reserved_value(), ReservedValue::Deny);
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
    for &release in Release::ALL {
        let json = format!(r#"{{"kubernetes_version":"{}"}}"#, release.as_str());
        let settings = Settings::from_json(json.as_bytes()).unwrap();
        assert_eq!(settings.kubernetes_version(), Some(release));
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

#[test]
fn what_is_too_long_is_told_once() {
    let entries: Vec<String> = (0..1025)
        .map(|i| format!(r#""acme.io/{i}":{{}}"#))
        .collect();
    assert_eq!(
        problems(&format!(r#"{{"controllers":{{{}}}}}"#, entries.join(","))),
        ["controllers: got 1025, expected at most 1024"]
    );
    let entries: Vec<String> = (0..1025)
        .map(|i| format!(r#"{{"match":["n{i}"],"delegation":"allowed"}}"#))
        .collect();
    assert_eq!(
        problems(&format!(r#"{{"namespaces":[{}]}}"#, entries.join(","))),
        ["namespaces: got 1025 entries, expected at most 1024"]
    );
    let users: Vec<String> = (0..257).map(|i| format!("\"u{i}\"")).collect();
    assert_eq!(
        problems(&format!(
            r#"{{"exempt":{{"users":[{}]}}}}"#,
            users.join(",")
        )),
        ["exempt.users: got 257 items, expected at most 256"]
    );
    let kinds: Vec<String> = (0..65)
        .map(|i| format!(r#"{{"group":"a{i}.io","kind":"Task","plural":"tasks"}}"#))
        .collect();
    assert_eq!(
        problems(&format!(r#"{{"custom_kinds":[{}]}}"#, kinds.join(","))),
        ["custom_kinds: got 65 kinds, expected at most 64"]
    );
}

#[test]
fn there_are_only_so_many_patterns() {
    let items = |i: usize| {
        (0..16)
            .map(|j| format!("\"n{i}-{j}\""))
            .collect::<Vec<_>>()
            .join(",")
    };
    let json = |entries: usize| {
        let entries: Vec<String> = (0..entries)
            .map(|i| format!(r#"{{"match":[{}],"delegation":"allowed"}}"#, items(i)))
            .collect();
        format!(r#"{{"namespaces":[{}]}}"#, entries.join(","))
    };
    assert!(Settings::from_json(json(256).as_bytes()).is_ok());
    assert_eq!(
        problems(&json(257)),
        ["namespaces: got 4112 patterns in all, expected at most 4096"]
    );
    let with_star = |count: usize| {
        let entries: Vec<_> = (0..count)
            .map(|i| format!(r#"{{"match":["n{i}-*"],"delegation":"allowed"}}"#))
            .collect();
        format!(r#"{{"namespaces":[{}]}}"#, entries.join(","))
    };
    assert!(Settings::from_json(with_star(512).as_bytes()).is_ok());
    assert_eq!(
        problems(&with_star(513)),
        ["namespaces: got 513 patterns with *, expected at most 512"]
    );
}

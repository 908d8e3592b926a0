use super::{OnLookupFailure, ReservedValue, Role, Settings};
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
fn what_is_right_is_no_problem() {
    for right in [
        r#"{"namespaces":[{"matchLabels":{"a/b":"c"},"delegation":"allowed"}]}"#,
        r#"{"namespaces":[{"match":["x"],"matchLabels":{"a":"b"},"delegation":"allowed"},{"match":["x"],"delegation":"required"}]}"#,
        r#"{"controllers":{}}"#,
    ] {
        assert_eq!(Settings::from_json(right.as_bytes()).err(), None, "{right}");
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
    let json = r#"{"kubernetes_version":"1.31","reserved_value":"deny","on_lookup_failure":"deny","rules":{"managed-by/format":"off","managed-by/wrong-kind":"deny"}}"#;
    let settings = Settings::from_json(json.as_bytes()).unwrap();
    assert_eq!(settings.kubernetes_version(), Some(Release::V1_31));
    assert_eq!(settings.reserved_value(), ReservedValue::Deny);
    assert_eq!(settings.on_lookup_failure(), OnLookupFailure::Deny);
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
        assert_eq!(
            Settings::default().with_kubernetes_version(release),
            settings
        );
    }
}

#[test]
fn a_role_has_the_word_that_settings_have_for_it() {
    for (word, role) in Role::ALL {
        let json = format!(r#"{{"role":"{word}"}}"#);
        assert_eq!(Settings::from_json(json.as_bytes()).unwrap().role(), *role);
        assert_eq!(role.as_str(), *word);
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
fn fifty_problems_are_told_and_the_others_counted() {
    let json = |count: usize| {
        let keys: Vec<_> = (0..count).map(|i| format!(r#""x{i}":1"#)).collect();
        format!("{{{}}}", keys.join(","))
    };
    let text = |count| {
        let read = Settings::from_json(json(count).as_bytes()).map(|_| ());
        read.unwrap_err().to_string()
    };
    assert!(text(50).starts_with("50 problems in the settings: (1) "));
    assert!(!text(50).contains(" more"), "{}", text(50));
    assert!(text(51).starts_with("51 problems in the settings: (1) "));
    assert!(!text(51).contains("(51)") && text(51).ends_with("; and 1 more"));
}

#[test]
fn a_problem_says_where_it_is_and_of_what_sort() {
    for (json, path, is_key, is_semantic) in [
        (
            r#"{"rules":{"managed-by/formt":"deny"}}"#,
            r#"rules["managed-by/formt"]"#,
            true,
            false,
        ),
        (r#"{"reserved_value":1}"#, "reserved_value", false, false),
        (
            r#"{"controllers":{},"role":"management"}"#,
            "controllers",
            false,
            true,
        ),
        (
            r#"{"controllers":{"acme.io/x":{"kinds":["Jbo"]}}}"#,
            r#"controllers["acme.io/x"].kinds[0]"#,
            false,
            false,
        ),
        // Kinds that the settings declare are right too.
        (
            r#"{"controllers":{"acme.io/x":{"kinds":["Jbo"]}},"custom_kinds":[{"group":"a.io","kind":"Run","plural":"runs"}]}"#,
            r#"controllers["acme.io/x"].kinds[0]"#,
            false,
            true,
        ),
    ] {
        let problems = Settings::from_json(json.as_bytes()).unwrap_err();
        let [problem] = problems.as_slice() else {
            panic!("{problems}");
        };
        assert_eq!(problem.path(), path);
        assert_eq!(
            (problem.is_key(), problem.is_semantic()),
            (is_key, is_semantic),
            "{json}"
        );
    }
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

/// As many as are allowed are right, and one more is one problem.
#[test]
fn what_is_too_long_is_told_once() {
    type Item = fn(usize) -> String;
    let rows: [(usize, Item, &str, &str); 5] = [
        (
            1024,
            |i| format!(r#""acme.io/{i}":{{}}"#),
            r#"{"controllers":{ITEMS}}"#,
            "controllers: got 1025, expected at most 1024",
        ),
        (
            1024,
            |i| format!(r#"{{"match":["n{i}"],"delegation":"allowed"}}"#),
            r#"{"namespaces":[ITEMS]}"#,
            "namespaces: got 1025 entries, expected at most 1024",
        ),
        (
            16,
            |i| format!(r#""l{i}":"x""#),
            r#"{"namespaces":[{"matchLabels":{ITEMS},"delegation":"allowed"}]}"#,
            "namespaces[0].matchLabels: got 17 labels, expected 1 to 16",
        ),
        (
            256,
            |i| format!("\"u{i}\""),
            r#"{"exempt":{"users":[ITEMS]}}"#,
            "exempt.users: got 257 items, expected at most 256",
        ),
        (
            64,
            |i| format!(r#"{{"group":"a{i}.io","kind":"Job","plural":"jobs"}}"#),
            r#"{"custom_kinds":[ITEMS]}"#,
            "custom_kinds: got 65 kinds, expected at most 64",
        ),
    ];
    for (most, item, frame, problem) in rows {
        let json = |count| {
            let items: Vec<_> = (0..count).map(item).collect();
            frame.replace("ITEMS", &items.join(","))
        };
        let right = json(most);
        assert_eq!(Settings::from_json(right.as_bytes()).err(), None, "{frame}");
        assert_eq!(problems(&json(most + 1)), [problem]);
    }
}

#[test]
fn there_are_only_so_many_patterns() {
    // What is never reached is told too, unless there are too many.
    let unreached = |entry: usize, item: usize, pattern: &str| {
        format!(
            "namespaces[{entry}].match[{item}]: {pattern:?} is never reached: namespaces[0] matches all of it"
        )
    };
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
    let twice = |entries: usize| {
        let last = entries - 1;
        json(entries).replace(&format!("n{last}-15"), "n0-0")
    };
    assert_eq!(problems(&twice(256)), [unreached(255, 15, "n0-0")]);
    assert_eq!(problems(&twice(257)).len(), 1);
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
    let twice = |count: usize| with_star(count).replace(&format!("n{}-*", count - 1), "n0-*");
    assert_eq!(problems(&twice(512)), [unreached(511, 0, "n0-*")]);
    assert_eq!(problems(&twice(513)).len(), 1);
}

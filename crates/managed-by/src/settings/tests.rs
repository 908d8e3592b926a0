use super::{ReservedValue, Settings};
use crate::catalogue::rules;
use crate::description::Enforcement;
use crate::release::Release;

/// Everything that is wrong with settings.
pub(super) fn problems(json: &str) -> Vec<String> {
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

/// `rules: {managed-by/format: off}`
#[test]
fn a_word_that_yaml_took_for_a_boolean_is_told_how_to_write_it() {
    assert_eq!(
        problems(r#"{"rules":{"managed-by/format":false}}"#),
        [
            r#"rules["managed-by/format"]: got false, expected one of deny, warn, off; write it in quotes, "off": YAML takes off for false"#
        ]
    );
}

#[test]
fn a_version_as_kubectl_prints_it_is_told_what_it_means() {
    for (got, meant) in [
        ("v1.36", "1.36"),
        ("1.36.3", "1.36"),
        ("v1.30.14+k3s1", "1.30"),
        ("1.38.0", "1.37"),
    ] {
        assert_eq!(
            problems(&format!(r#"{{"kubernetes_version":"{got}"}}"#)),
            [format!(
                "kubernetes_version: got \"{got}\", expected a string, one of {RELEASES}; did you mean \"{meant}\"?"
            )]
        );
    }
}

#[test]
fn all_problems_are_told_at_once() {
    assert_eq!(
        problems(r#"{"reservedValue":"deny","kubernetes_version":"1.38","reserved_value":"Alow","rules":{"managed-by/imutable":"warn","managed-by/format":"error","managed-by/reserved":true,"managed-by/reserved":"off"}}"#),
        [
            r#""reservedValue": settings has no such key, expected one of kubernetes_version, reserved_value, role, controllers, namespaces, custom_kinds, standard_status_writers, exempt, on_lookup_failure, rules; did you mean "reserved_value"?"#.to_owned(),
            format!(r#"kubernetes_version: got "1.38", expected a string, one of {RELEASES}; did you mean "1.37"?"#),
            r#"reserved_value: got "Alow", expected one of allow, deny; did you mean "allow"?"#.to_owned(),
            format!(
                r#"rules["managed-by/imutable"]: rules has no such key, expected one of {}; did you mean "managed-by/immutable"?"#,
                rules().iter().map(|rule| rule.id).collect::<Vec<_>>().join(", ")
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
        (
            "",
            "settings: not JSON: EOF while parsing a value at line 1 column 0",
        ),
        (
            "{",
            "settings: not JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            "{} x",
            "settings: not JSON: trailing characters at line 1 column 4",
        ),
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

/// Each row: settings, and everything that is wrong with them.
fn all_problems(rows: &[(&str, &[&str])]) {
    for (json, expected) in rows {
        assert_eq!(problems(json), *expected, "{json}");
    }
}

#[test]
fn every_problem_of_controllers_is_told_with_its_path() {
    let kinds = super::kinds().collect::<Vec<_>>().join(", ");
    let controller = "expected a controller's name: a domain-prefixed path such as acme.io/runner, at most 63 bytes";
    let pattern =
        "expected a namespace or a pattern such as team-*: up to 63 of a-z, 0-9, - and single *";
    let rows: &[(&str, &[&str])] = &[
        (
            r#"{"role":"manager"}"#,
            &[r#"role: got "manager", expected one of hybrid, management, worker"#],
        ),
        (
            r#"{"role":"workr"}"#,
            &[
                r#"role: got "workr", expected one of hybrid, management, worker; did you mean "worker"?"#,
            ],
        ),
        (
            r#"{"controllers":["acme.io/x"]}"#,
            &["controllers: got an array, expected an object of controllers' names"],
        ),
        (
            r#"{"controllers":{"acme.io/x":[]}}"#,
            &[r#"controllers["acme.io/x"]: got an array, expected an object"#],
        ),
        (
            r#"{"controllers":{"kueue.x-k8s.io/multikueue":{"kinds":["Job","Jbo",1,"Job"]}}}"#,
            &[
                &format!(
                    r#"controllers["kueue.x-k8s.io/multikueue"].kinds[1]: got "Jbo", expected one of {kinds}; did you mean "Job"?"#
                ),
                r#"controllers["kueue.x-k8s.io/multikueue"].kinds[2]: got the number 1, expected a string"#,
                r#"controllers["kueue.x-k8s.io/multikueue"].kinds[3]: "Job" is covered by item 0 already"#,
            ],
        ),
        (
            r#"{"controllers":{"acme.io/x":{"kinds":[],"kind":"Job","status_writers":"ana"}}}"#,
            &[
                r#"controllers["acme.io/x"].kinds: got an empty list, expected at least one item; leave the key out to mean all"#,
                r#"controllers["acme.io/x"]["kind"]: controllers["acme.io/x"] has no such key, expected one of kinds, namespaces, status_writers; did you mean "kinds"?"#,
                r#"controllers["acme.io/x"].status_writers: got "ana", expected a list of users and groups"#,
            ],
        ),
        (
            r#"{"controllers":{"":{},"Acme.io/x":{},"multikueue":{},"kubernetes.io/job-controller":{},"acme.io/x":{},"acme.io/x":{}}}"#,
            &[
                &format!(r#"controllers[""]: {controller}"#),
                &format!(r#"controllers["Acme.io/x"]: {controller}"#),
                r#"controllers["multikueue"]: a name without a domain, did you mean "kueue.x-k8s.io/multikueue"?"#,
                r#"controllers["kubernetes.io/job-controller"]: the built-in controller of Jobs needs no permission, expected an external one"#,
                r#"controllers["acme.io/x"]: given twice"#,
            ],
        ),
        (
            r#"{"controllers":{"acme.io/x":{"namespaces":["team-*","team-a","Team","","**"]}}}"#,
            &[
                r#"controllers["acme.io/x"].namespaces[1]: "team-a" is covered by item 0 already"#,
                &format!(r#"controllers["acme.io/x"].namespaces[2]: got "Team", {pattern}"#),
                &format!(r#"controllers["acme.io/x"].namespaces[3]: got "", {pattern}"#),
                &format!(r#"controllers["acme.io/x"].namespaces[4]: got "**", {pattern}"#),
            ],
        ),
        (
            r#"{"controllers":{"acme.io/x":{"status_writers":["system:serviceaccount:kueue-system","ana ","ana","ana"]}}}"#,
            &[
                r#"controllers["acme.io/x"].status_writers[0]: got "system:serviceaccount:kueue-system", expected system:serviceaccount:NAMESPACE:NAME"#,
                r#"controllers["acme.io/x"].status_writers[1]: got "ana ", expected a name: not empty, no space at either end, no control character, no * (names are compared as they are)"#,
                r#"controllers["acme.io/x"].status_writers[3]: "ana" is covered by item 2 already"#,
            ],
        ),
    ];
    all_problems(rows);
}

#[test]
fn every_problem_of_places_and_people_is_told_with_its_path() {
    let kinds = super::kinds().collect::<Vec<_>>().join(", ");
    let rows: &[(&str, &[&str])] = &[
        (
            r#"{"namespaces":{}}"#,
            &["namespaces: got an object, expected a list of entries with match and delegation"],
        ),
        (
            r#"{"namespaces":[{},{"match":["a"]},{"match":"b","delegation":"forbiden"},7]}"#,
            &[
                "namespaces[0].match: missing, expected a list of namespaces",
                "namespaces[0].delegation: missing, expected one of required, forbidden, allowed",
                "namespaces[1].delegation: missing, expected one of required, forbidden, allowed",
                r#"namespaces[2].match: got "b", expected a list of namespaces"#,
                r#"namespaces[2].delegation: got "forbiden", expected one of required, forbidden, allowed; did you mean "forbidden"?"#,
                "namespaces[3]: got the number 7, expected an object",
            ],
        ),
        (
            r#"{"namespaces":[{"match":["team-*","x"],"delegation":"required"},{"match":["team-a","x","y"],"delegation":"allowed"},{"match":["*"],"delegation":"allowed"},{"match":["z-*"],"delegation":"allowed"}]}"#,
            &[
                r#"namespaces[1].match[0]: "team-a" is never reached: namespaces[0] matches all of it"#,
                r#"namespaces[1].match[1]: "x" is never reached: namespaces[0] matches all of it"#,
                r#"namespaces[3].match[0]: "z-*" is never reached: namespaces[2] matches all of it"#,
            ],
        ),
        (
            r#"{"role":"worker","namespaces":[{"match":["a"],"delegation":"allowed"},{"match":["b"],"delegation":"required"}]}"#,
            &[
                "namespaces[1].delegation: required contradicts role worker, expected forbidden or allowed; a cluster that hands workloads on is a hybrid",
            ],
        ),
        (
            r#"{"role":"management","controllers":{}}"#,
            &["controllers: allows nobody, where role management requires delegation"],
        ),
        (
            r#"{"controllers":{},"namespaces":[{"match":["b"],"delegation":"required"}]}"#,
            &["controllers: allows nobody, where namespaces[0] requires delegation"],
        ),
        (
            r#"{"standard_status_writers":["ana"]}"#,
            &["standard_status_writers: got an array, expected an object of kinds"],
        ),
        (
            r#"{"standard_status_writers":{"Jobs":["ana"],"Job":[]}}"#,
            &[
                &format!(
                    r#"standard_status_writers["Jobs"]: no such kind, expected one of {kinds}; did you mean "Job"?"#
                ),
                r#"standard_status_writers["Job"]: got an empty list, expected at least one item; leave the key out to mean all"#,
            ],
        ),
        (
            r#"{"exempt":{"users":["system:masters"],"groups":["system:serviceaccount:a:b"],"user":[]}}"#,
            &[
                r#"exempt.users[0]: got "system:masters", this is a group, expected a user"#,
                r#"exempt.groups[0]: got "system:serviceaccount:a:b", this is a user, expected a group"#,
                r#"exempt["user"]: exempt has no such key, expected one of groups, users; did you mean "users"?"#,
            ],
        ),
        (
            r#"{"exempt":[]}"#,
            &["exempt: got an array, expected an object"],
        ),
    ];
    all_problems(rows);
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

#[test]
fn an_entry_may_ask_for_labels() {
    let entry = |entry: &str| format!(r#"{{"namespaces":[{entry}]}}"#);
    for right in [
        r#"{"matchLabels":{"a/b":"c"},"delegation":"allowed"}"#,
        r#"{"match":["x"],"matchLabels":{"a":"b"},"delegation":"allowed"},{"match":["x"],"delegation":"required"}"#,
    ] {
        assert!(
            Settings::from_json(entry(right).as_bytes()).is_ok(),
            "{right}"
        );
    }
    for (wrong, problem) in [
        (
            r#"{"matchLabels":{},"delegation":"allowed"}"#,
            "namespaces[0].matchLabels: got 0 labels, expected 1 to 16",
        ),
        (
            r#"{"matchLabels":["a"],"delegation":"allowed"}"#,
            "namespaces[0].matchLabels: got an array, expected an object of labels, each with a value",
        ),
        (
            r#"{"matchLabels":{"a":1},"delegation":"allowed"}"#,
            r#"namespaces[0].matchLabels["a"]: got the number 1, expected a string"#,
        ),
        (
            r#"{"match":["x"],"match_labels":{"a":"b"},"delegation":"allowed"}"#,
            r#"namespaces[0]["match_labels"]: namespaces[0] has no such key, expected one of delegation, match, matchLabels; did you mean "matchLabels"?"#,
        ),
    ] {
        assert_eq!(problems(&entry(wrong)), [problem]);
    }
}

/// A kind whose API takes other names never names the controller.
#[test]
fn a_controller_that_a_kind_cannot_name_is_told() {
    assert_eq!(
        problems(
            r#"{"controllers":{"runner":{"kinds":["AppWrapper","Job"]},"acme.io/x":{"kinds":["Job","TrainJob"]}}}"#
        ),
        [
            r#"controllers["runner"].kinds[1]: the API of Job accepts no such name"#,
            r#"controllers["acme.io/x"].kinds[1]: the API of TrainJob accepts no such name"#,
        ]
    );
}

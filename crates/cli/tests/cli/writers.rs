//! What `settings writers` proposes can be copied, and nothing in a log gets into it unseen.

use managed_by_offline::SettingsText;
use serde_json::{Value, json};

use crate::support::run;

/// A status write of a Job at level `Metadata`, with what the policy notes about it.
fn event(user: &str) -> String {
    let event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete", "verb": "update",
        "requestURI": "/apis/batch/v1/namespaces/a/jobs/pi/status", "user": {"username": user},
        "objectRef": {"resource": "jobs", "apiGroup": "batch", "apiVersion": "v1", "subresource": "status"},
        "responseStatus": {"code": 200}, "annotations": {"p.example.com/mode": "Standard"},
    });
    format!("{event}\n")
}

/// The settings that a proposal makes, which the policy accepts.
fn settings(yaml: &str) -> Value {
    let all = SettingsText::all(yaml).unwrap();
    let [settings] = &*all else {
        panic!("{yaml}");
    };
    settings.read().unwrap();
    let read: Value = serde_json::from_str(settings.json()).unwrap();
    // Another reader of YAML reads the same.
    assert_eq!(
        serde_yaml_ng::from_str::<Value>(yaml).unwrap(),
        read,
        "{yaml}"
    );
    read
}

/// A name is a scalar, whatever is in it. One that the settings refuse is a comment, so that what is copied starts.
#[test]
fn names_stay_names() {
    let good = [
        "a: b",
        "a #b",
        "#a",
        "- a",
        "'a'",
        "\"a\"",
        "a\\nb",
        "{a}",
        "[a]",
        "&a",
        "!a",
        "|",
        ">",
        "%a",
        "null",
        "yes",
        "1",
        "ä",
        "аna",
        "a\u{2028}- b",
        "a\u{85}b",
        "\u{202e}a",
        "a\u{1f600}",
        "system:masters: x",
    ];
    let bad = [
        "a\nb",
        "a\r\n    - system:masters",
        "a\tb",
        " a",
        "a ",
        "*",
        "system:serviceaccount:x",
    ];
    let log: String = good.iter().chain(&bad).map(|name| event(name)).collect();
    let ran = run(&["settings", "writers"], log.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut expected = good.to_vec();
    expected.sort_unstable();
    assert_eq!(
        settings(&ran.out),
        json!({"standard_status_writers": {"Job": expected}})
    );
    assert_eq!(ran.out.lines().count(), 4 + good.len() + bad.len());
    assert!(ran.out.is_ascii());
    let line = |start: &str| {
        ran.out
            .lines()
            .find(|line| line.starts_with(start))
            .unwrap()
    };
    let refused = "; the settings refuse it: got \"a\\nb\", expected a name: not empty, ";
    assert!(line("#     - \"a\\u000ab\" # a person? 1 write, first stdin:").contains(refused));
    let refused = "; the settings refuse it: ";
    let master = "#     - \"a\\u000d\\u000a    - system:masters\" # a person? ";
    assert!(line(master).contains(refused));
}

//! What `replay` makes of histories that are not as they should be.

use crate::support::run;

fn event(kind: &str, version: u32, managed_by: &str) -> String {
    format!(
        r#"{{"type":"{kind}","object":{{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"pi","namespace":"a","uid":"u","resourceVersion":"{version}"}},"spec":{{"managedBy":"{managed_by}"}}}}}}"#
    ) + "\n"
}

/// The denial comes behind what is malformed, so that it shows that the rest is judged.
fn around(malformed: &str) -> String {
    event("ADDED", 5, "a.io/x") + malformed + &event("MODIFIED", 9, "b.io/y")
}

#[test]
fn what_is_malformed_is_named_with_its_line_and_the_rest_is_judged() {
    let audit = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":"update","objectRef":{"resource":"jobs","apiGroup":"batch"},"responseStatus":{"code":200}}"#;
    let other = event("MODIFIED", 6, "a.io/x").replace("\"u\"", "\"v\"");
    for (malformed, expected) in [
        (
            "{\"type\":\"MODIFIED\",\"obj\n",
            "error: stdin:2: not JSON: ",
        ),
        ("ct\":{}}\n", "error: stdin:2: not JSON: "),
        (
            &*event("MODIFIED", 4, "a.io/x"),
            "error: stdin:2: Job.batch a/pi: out of order: resourceVersion 4 after 5\n",
        ),
        (
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"too old\"}}\n",
            "error: stdin:2: the watch ended with an error: too old\n",
        ),
        (
            &other,
            "error: stdin:2: Job.batch a/pi: seen first in the middle of its life",
        ),
        (
            audit,
            "error: stdin:2: an audit event of level Metadata holds no object",
        ),
        ("[1, 2]\n", "error: stdin:2: not JSON: "),
    ] {
        let stdin = around(&(malformed.trim_end().to_owned() + "\n"));
        let ran = run(&["replay"], stdin.as_bytes());
        assert_eq!(ran.code, 2, "{malformed}: {ran:?}");
        assert!(ran.err.contains(expected), "{malformed}: {}", ran.err);
        assert!(
            ran.out.contains("managed-by/immutable"),
            "{malformed}: {}",
            ran.out
        );
    }
}

/// A bookmark and a deletion are part of every healthy watch.
#[test]
fn a_healthy_watch_is_quiet() {
    let bookmark = "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"resourceVersion\":\"8\"}}}\n";
    let stdin = event("ADDED", 5, "a.io/x") + bookmark + &event("DELETED", 6, "a.io/x");
    let ran = run(&["replay", "-q"], stdin.as_bytes());
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "", ""));
}

#[test]
fn what_repeats_is_told_three_times_and_counted() {
    let stdin = "{cut\n".repeat(10) + &event("ADDED", 5, "a.io/x");
    let ran = run(&["replay"], stdin.as_bytes());
    assert_eq!(ran.err.matches("not JSON").count(), 3, "{}", ran.err);
    assert!(
        ran.err.contains("error: stdin: 7 more: not-json\n"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.ends_with(
            "11 documents, 1 requests judged: 0 denied, 0 with warnings; 10 could not be judged\n"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn files_that_hold_no_history_are_named() {
    for (stdin, expected) in [
        (&b""[..], "error: stdin: is empty\n"),
        (
            b"\x7fELF\x00",
            "error: stdin: is a binary file, expected JSON\n",
        ),
        (
            b"\xff\xfe{\x00",
            "error: stdin: is UTF-16, expected UTF-8\n",
        ),
    ] {
        let ran = run(&["replay"], stdin);
        assert_eq!(ran.code, 2);
        assert!(ran.err.starts_with(expected), "{}", ran.err);
    }
}

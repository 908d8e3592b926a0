//! What `replay` makes of histories that are not as they should be.

use crate::support::run;

fn event(kind: &str, version: u32, managed_by: &str) -> String {
    format!(
        r#"{{"type":"{kind}","object":{{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"pi","namespace":"a","uid":"u","resourceVersion":"{version}"}},"spec":{{"managedBy":"{managed_by}"}}}}}}"#
    ) + "\n"
}

/// How it is told; the tests of the replay itself have all that cannot be judged. The denial behind it shows that the rest is judged.
#[test]
fn what_cannot_be_judged_is_told_with_its_line_and_object() {
    let older = event("ADDED", 5, "a.io/x") + &event("MODIFIED", 4, "a.io/x");
    let stdin = older + &event("MODIFIED", 9, "b.io/y");
    let ran = run(&["replay"], stdin.as_bytes());
    assert_eq!(ran.code, 2, "{ran:?}");
    let expected = "error: stdin:2: Job.batch a/pi: out of order: resourceVersion 4 after 5\n";
    assert!(ran.err.contains(expected), "{}", ran.err);
    assert!(ran.out.contains("managed-by/immutable"), "{}", ran.out);
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

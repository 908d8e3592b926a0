//! Checks that names cannot inject lines or commands.

use serde_json::json;

use crate::support::{RunOutput, run, run_in};

/// A name that ends the line, starts a GitHub Actions command, moves the cursor and reverses the text.
const NAME: &str = "x\n::error::y\r\u{1b}[2J\u{202e}\u{2028}##[group]z";

fn assert_escaped(what: &str, ran: &RunOutput, allowed_command: Option<&str>) {
    for out in [&ran.out, &ran.err] {
        let bad = ['\r', '\u{1b}', '\u{202e}', '\u{2028}'];
        assert!(!out.contains(bad), "{what}: {out:?}");
        assert!(!out.contains("##["), "{what}: {out:?}");
        for line in out
            .split('\n')
            .filter(|line| line.trim_start().starts_with("::"))
        {
            assert!(
                allowed_command.is_some_and(|command| line.starts_with(command)),
                "{what}: {line}"
            );
        }
    }
    // Each format shows the name in an escaped form.
    let forms = ["\\u{202e}", "\\u202e", "\u{fffd}"];
    let is_shown = forms
        .iter()
        .any(|form| ran.out.contains(form) || ran.err.contains(form));
    assert!(is_shown, "{what}: {ran:?}");
}

#[test]
fn names_cannot_inject_lines_or_commands() {
    let job = |kind: &str, managed_by: &str| {
        let metadata = json!({"name": NAME, "namespace": NAME, "uid": NAME});
        json!({"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": {"managedBy": managed_by}}).to_string()
    };
    let denied = job("Job", NAME);
    let mistyped = denied.replace("\"spec\":", "\"spec\": 7, \"was\":");
    let unknown = job(NAME, "a.io/b");
    let event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete", "verb": "create",
        "user": {"username": NAME}, "requestReceivedTimestamp": NAME,
        "objectRef": {"apiGroup": "batch", "apiVersion": "v1", "resource": "jobs"}, "responseStatus": {"code": 201},
        "responseObject": serde_json::from_str::<serde_json::Value>(&denied).unwrap(),
    })
    .to_string();
    let status_event = event.replace("\"create\"", "\"update\"").replace(
        "\"resource\":\"jobs\"",
        "\"resource\":\"jobs\",\"subresource\":\"status\"",
    );
    let by_exception = denied.replace(
        "\"uid\":",
        "\"annotations\": {\"managed-by-policy.github.io/except\": \"managed-by/format: ##[a]\\u202e\\u2028b\"}, \"uid\":",
    );
    for (args, stdin) in [
        (&["lint"][..], &denied),
        (&["lint"], &mistyped),
        (&["lint"], &unknown),
        (&["lint", "no/\n::error::\u{202e}"], &denied),
        (&["replay"], &event),
        (&["replay", "--show", "0"], &event),
        (&["replay"], &mistyped),
        (&["conformance", "--controller", "x"], &denied),
        (&["conformance", "--controller", NAME], &denied),
        (
            &["conformance", "--controller", NAME, "-o", "markdown"],
            &denied,
        ),
        (&["settings", "check"], &json!({NAME: 1}).to_string()),
        (&["explain", NAME], &denied),
        (&["lint", "-o", "junit"], &denied),
        (&["lint", "-o", "junit"], &mistyped),
        (&["lint", "-o", "junit"], &by_exception),
        (&["replay", "-o", "junit"], &event),
        (&["settings", "writers"], &status_event),
        (&["lint", "-o", "github"], &denied),
        (&["lint", "-o", "github"], &mistyped),
        (&["replay", "-o", "github"], &event),
    ] {
        let is_github = args.contains(&"github");
        let command = is_github.then_some("::error file=stdin,line=1");
        assert_escaped(&format!("{args:?}"), &run(args, stdin.as_bytes()), command);
    }
    // Lines of a file are shown without harmful characters.
    let directory = tempfile::tempdir().unwrap();
    let text = "apiVersion: batch/v1\nkind: Job\nspec: {managedBy: bad} # \u{202e}\u{200b}\n";
    std::fs::write(directory.path().join("a\u{202e}.yaml"), text).unwrap();
    assert_escaped(
        "a line",
        &run_in(directory.path(), &["lint", "."], b""),
        None,
    );
}

//! Tests the help.

use crate::support::run;

/// Checks that the help of each command has an example.
#[test]
fn help_has_examples() {
    for command in [
        "lint",
        "diff",
        "review",
        "replay",
        "conformance",
        "rules",
        "explain",
        "kinds",
        "settings",
        "settings check",
        "settings writers",
        "settings schema",
        "completions",
        "man",
    ] {
        let args: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let help = run(&args, b"").out;
        let (_, examples) = help.split_once("\nExample").unwrap();
        let named = format!("managed-by {command}");
        assert!(examples.contains(&named), "{command}: {help}");
    }
}

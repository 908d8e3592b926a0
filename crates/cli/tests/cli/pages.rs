//! Tests the manual pages and the help.

use crate::support::run;

const COMMANDS: [&str; 11] = [
    "lint",
    "diff",
    "review",
    "replay",
    "conformance",
    "rules",
    "explain",
    "kinds",
    "settings",
    "completions",
    "man",
];

#[test]
fn manual_has_a_page_for_each_command() {
    let whole = run(&["man"], b"");
    assert_eq!((whole.code, &*whole.err), (0, ""));
    for command in COMMANDS {
        let name = format!("managed\\-by\\-{command}(1)");
        assert!(whole.out.contains(&name), "{name}");
        let page = run(&["man", command], b"");
        assert_eq!((page.code, &*page.err), (0, ""), "{command}");
        for section in [".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"] {
            assert!(page.out.contains(section), "{command} has no {section}");
        }
    }
}

/// Checks that the help of each command has an example.
#[test]
fn help_has_examples() {
    let settings_commands = ["check", "writers", "schema"].map(|name| format!("settings {name}"));
    for command in COMMANDS
        .map(str::to_owned)
        .into_iter()
        .chain(settings_commands)
    {
        let args: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let help = run(&args, b"").out;
        let (_, examples) = help.split_once("\nExample").unwrap();
        let named = format!("managed-by {command}");
        assert!(examples.contains(&named), "{command}: {help}");
    }
}

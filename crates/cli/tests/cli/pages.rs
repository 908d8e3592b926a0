//! Tests the manual pages and the shell completions.

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

/// Returns the options in a command's help, such as `--settings`.
fn options(command: &str) -> Vec<String> {
    let help = run(&[command, "--help"], b"").out;
    let lines = help.lines().map(str::trim_start);
    let options = lines.filter_map(|line| {
        let is_option = line.starts_with('-');
        let (_, rest) = line.split_once("--").filter(|_| is_option)?;
        let word = rest.split([' ', ',', '=', '[']).next()?;
        Some(format!("--{word}"))
    });
    options.collect()
}

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
        let options = options(command);
        assert!(options.len() >= 3, "{command}: {options:?}");
        for option in options {
            let escaped = option.replace('-', "\\-");
            assert!(page.out.contains(&escaped), "{command} has no {option}");
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

#[test]
fn completions_include_commands_and_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let completions = run(&["completions", shell], b"");
        assert_eq!((completions.code, &*completions.err), (0, ""), "{shell}");
        for word in COMMANDS
            .iter()
            .chain(&["kubernetes", "deny-warnings", "writers"])
        {
            assert!(completions.out.contains(word), "{shell} has no {word}");
        }
    }
}

//! The manual, and the completions of each shell.

use std::io::Write as _;
use std::process::{Command, Stdio};

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

/// The options that a command tells of in its help, such as `--settings`.
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
fn the_manual_has_a_page_for_each_command_with_its_options() {
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

#[test]
fn completions_know_each_command_and_its_options() {
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
    let refused = run(&["completions", "tcsh"], b"");
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("possible values: bash"),
        "{}",
        refused.err
    );
}

/// bash itself completes a command and an option by them.
#[test]
fn bash_completes() {
    let script = run(&["completions", "bash"], b"").out;
    let asked = "\nCOMP_WORDS=(managed-by re); COMP_CWORD=1; _managed__by managed-by re managed-by\necho \"${COMPREPLY[@]}\"\n\
        COMP_WORDS=(managed-by lint --deny); COMP_CWORD=2; _managed__by managed-by --deny lint\necho \"${COMPREPLY[@]}\"\n";
    let mut bash = Command::new("bash")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = bash.stdin.take().unwrap();
    to.write_all((script + asked).as_bytes()).unwrap();
    drop(to);
    let said = String::from_utf8(bash.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(said, "review replay\n--deny-warnings\n");
}

#[test]
fn every_help_has_an_example() {
    let mut commands: Vec<Vec<&str>> = Vec::new();
    for command in COMMANDS {
        commands.push(vec![command]);
    }
    for command in ["check", "writers", "schema"] {
        commands.push(vec!["settings", command]);
    }
    for command in commands {
        let ran = run(&[&command[..], &["--help"]].concat(), b"");
        let (_, examples) = ran.out.split_once("\nExample").unwrap();
        let named = format!("managed-by {}", command.join(" "));
        assert!(examples.contains(&named), "{command:?}: {}", ran.out);
    }
}

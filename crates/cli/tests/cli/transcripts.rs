//! What stands in the documentation is what the program prints, and how it ends.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use xtask::root;

/// Runs a line of a shell with the program on its path, and gives what it prints, on both ways out, and its exit code. A line
/// may ask for the exit code of the one before.
fn run(line: &str, before: i32) -> (String, i32) {
    let program = Path::new(env!("CARGO_BIN_EXE_managed-by"));
    let folders = [
        program.parent().unwrap().display().to_string(),
        std::env::var("PATH").unwrap(),
    ];
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", &format!("(exit {before}); {line}")])
        // The transcripts run where the files that they name are.
        .current_dir(root("examples/manifests"))
        .env("PATH", folders.join(":"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .stdout(writer.try_clone().unwrap())
        .stderr(writer)
        .spawn()
        .unwrap();
    let mut printed = String::new();
    reader.read_to_string(&mut printed).unwrap();
    (printed, child.wait().unwrap().code().unwrap())
}

/// The page with what is printed today below each command.
fn written_again(page: &str) -> String {
    let mut made = String::new();
    let mut is_transcript = false;
    let mut code = 0;
    for line in page.lines() {
        match line.strip_prefix("$ ") {
            Some(command) if is_transcript => {
                let printed;
                (printed, code) = run(command, code);
                made.push_str(line);
                made.push('\n');
                let printed = printed.trim_end();
                if command.contains(" -o json") {
                    let read = serde_json::from_str::<serde_json::Value>(printed);
                    assert!(read.is_ok(), "{command}: {read:?}");
                }
                made.push_str(printed);
                made.push_str(if printed.is_empty() { "" } else { "\n" });
                continue;
            }
            _ if line.starts_with("```") => is_transcript = line == "```console",
            _ if is_transcript => continue,
            _ => {}
        }
        made.push_str(line);
        made.push('\n');
    }
    made
}

#[test]
fn the_documentation_shows_what_is_printed() {
    let more = "crates/cli/tests/cli/transcripts.md";
    for name in ["docs/cli.md", "docs/cli-help.md", more] {
        let page = fs::read_to_string(root(name)).unwrap();
        assert!(page.matches("\n$ managed-by ").count() > 5, "{name}");
        let made = written_again(&page);
        if std::env::var_os("UPDATE_CLI").is_some() {
            fs::write(root(name), made).unwrap();
            continue;
        }
        let lines = page.lines().zip(made.lines());
        for (number, (written, printed)) in lines.enumerate() {
            let line = number + 1;
            assert_eq!(written, printed, "{name}:{line}; UPDATE_CLI=1 writes it");
        }
        assert_eq!(page, made, "{name}");
    }
}

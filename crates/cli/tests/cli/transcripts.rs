//! Checks that the documentation shows the program's actual output and exit codes.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use managed_by_testing::root;
use serde_json::Value;
use tempfile::TempDir;

use crate::formats::{CLI_SCHEMA, GITLAB, check, check_sarif};
use crate::support::RunOutput;

/// Pages whose commands run in `examples/manifests`, and that show both output streams together.
const DOCUMENTATION: [&str; 3] = [
    "docs/reference/cli.md",
    "docs/tasks/check-in-ci.md",
    "docs/reference/status-writers.md",
];

/// Creates an empty directory, with links next to it to the parts of the repository that commands need. Commands of the other
/// pages run in it, from one `##` heading to the next.
fn new_directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["parity", "deploy", "examples"] {
        symlink(root(name), directory.path().join(name)).unwrap();
    }
    fs::create_dir(directory.path().join("here")).unwrap();
    directory
}

/// Runs a command in a shell with the program on its path. It can read the exit code of the previous command.
fn run(command: &str, directory: &Path, before: i32, is_merged: bool) -> RunOutput {
    let program = Path::new(env!("CARGO_BIN_EXE_managed-by"));
    let directories = [
        program.parent().unwrap().display().to_string(),
        std::env::var("PATH").unwrap(),
    ];
    let merge = if is_merged { "exec 2>&1; " } else { "" };
    let ran = Command::new("sh")
        .args(["-c", &format!("{merge}(exit {before}); {command}")])
        .current_dir(directory)
        .env("PATH", directories.join(":"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        // Git sets these for its child processes (hooks, `rebase --exec`): `git init` and `git commit` in a page would
        // affect this repository.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    RunOutput::new(ran)
}

/// Appends output to a page, with a mark before each line.
fn add(made: &mut String, mark: &str, printed: &str) {
    for line in printed.split_terminator('\n') {
        let mark = if line.is_empty() {
            mark.trim_end()
        } else {
            mark
        };
        writeln!(made, "{mark}{line}").unwrap();
    }
    if !printed.is_empty() && !printed.ends_with('\n') {
        made.push_str("\\ No newline at end\n");
    }
}

/// Returns the page with the current output below each command: standard output, standard error after the mark `2> `, and
/// the exit code if it is not 0. Pages of the documentation show both streams as a terminal does, and mention the exit
/// code where it matters. Their commands run in a fixed directory.
fn with_current_output(page: &str, fixed: Option<&Path>) -> String {
    let mut made = String::new();
    let mut directory = fixed.is_none().then(new_directory);
    let mut is_transcript = false;
    let mut code = 0;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("$ ").filter(|_| is_transcript);
        if line.starts_with("```") {
            is_transcript = line == "```console";
        } else if is_transcript && command.is_none() {
            // Skip the old output.
            continue;
        } else if line.starts_with("## ") {
            directory = fixed.is_none().then(new_directory);
        }
        made.push_str(line);
        made.push('\n');
        let Some(command) = command else {
            continue;
        };
        let mut command = command.to_owned();
        if command.ends_with("<<'EOF'") {
            for line in lines.by_ref() {
                made.push_str(line);
                made.push('\n');
                command.push('\n');
                command.push_str(line);
                if line == "EOF" {
                    break;
                }
            }
        }
        let here = directory
            .as_ref()
            .map(|directory| directory.path().join("here"));
        let here = here.as_deref().or(fixed).unwrap();
        let mut printed = run(&command, here, code, fixed.is_some());
        code = printed.code;
        check_documents(&command, &printed.out, here);
        // The documentation omits a blank line at the end.
        if fixed.is_some() && printed.out.ends_with("\n\n") {
            printed.out.pop();
        }
        add(&mut made, "", &printed.out);
        add(&mut made, "2> ", &printed.err);
        if code != 0 && fixed.is_none() {
            writeln!(made, "[exit code {code}]").unwrap();
        }
    }
    made
}

/// Fails unless a command's machine-readable output or file exists, can be parsed, and matches its schema, if there is
/// one.
fn check_documents(command: &str, printed: &str, directory: &Path) {
    let line = command.lines().next().unwrap();
    let last = line.rsplit('|').next().unwrap();
    let Some((_, format)) = last.split_once(" -o ") else {
        return;
    };
    let text = match format.split_once(" > ") {
        Some((_, file)) => fs::read_to_string(directory.join(file)),
        None => Ok(printed.to_owned()),
    };
    let text = text.unwrap_or_else(|e| panic!("{command}: {e}"));
    let check: fn(&Value) = match format.split(' ').next().unwrap() {
        "json" | "ndjson" => |document| check(&CLI_SCHEMA, document),
        "sarif" => check_sarif,
        "gitlab" => |document| check(&GITLAB, document),
        "junit" => {
            let report = quick_junit::Report::deserialize_from_str(&text);
            let report = report.unwrap_or_else(|e| panic!("{command}: {e}"));
            // The parser accepts more than the format allows, so compare the round trip.
            assert_eq!(report.to_string().unwrap(), text, "{command}");
            return;
        }
        _ => return,
    };
    let mut is_empty = true;
    for document in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let document = document.unwrap_or_else(|e| panic!("{command}: {e}"));
        check(&document);
        is_empty = false;
    }
    assert!(!is_empty, "{command}: no document");
}

fn pages() -> Vec<PathBuf> {
    let own = fs::read_dir(root("crates/cli/tests/transcripts")).unwrap();
    let own = own.map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = own.chain(DOCUMENTATION.map(root)).collect();
    pages.sort_unstable();
    pages
}

/// Fails at the first line of a page that differs from the current output. With `UPDATE_EXPECT`, updates the page instead.
fn check_page(file: &Path, name: &str) {
    let page = fs::read_to_string(file).unwrap();
    let least = if name.starts_with("docs") { 1 } else { 5 };
    assert!(page.matches("\n$ ").count() >= least, "{name}");
    let fixed = root("examples/manifests");
    let fixed = file.starts_with(root("docs")).then_some(&*fixed);
    let made = with_current_output(&page, fixed);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(file, made).unwrap();
        return;
    }
    let lines = page.lines().zip(made.lines());
    for (line, (written, printed)) in (1..).zip(lines) {
        assert_eq!(
            written, printed,
            "{name}:{line}: the page (left) differs from the output (right); run with UPDATE_EXPECT=1 to update it"
        );
    }
    assert_eq!(page, made, "{name}");
}

#[test]
fn pages_show_the_actual_output() {
    let pages = pages();
    let failed: Vec<String> = thread::scope(|scope| {
        let start = |file| {
            let name = Path::strip_prefix(file, root("")).unwrap();
            let name = name.display().to_string();
            let thread = thread::Builder::new().name(name.clone());
            let run_check = move || check_page(file, &name);
            thread.spawn_scoped(scope, run_check).unwrap()
        };
        let threads: Vec<_> = pages.iter().map(|file| start(file)).collect();
        let failed = threads.into_iter().filter_map(|thread| {
            let name = thread.thread().name().unwrap().to_owned();
            thread.join().is_err().then_some(name)
        });
        failed.collect()
    });
    assert!(failed.is_empty(), "failed, see above: {failed:?}");
}

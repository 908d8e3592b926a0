//! Helpers that run the program.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl RunOutput {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Starts the program in a directory, with pipes for its standard streams.
pub(crate) fn start(directory: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_managed-by"))
        .args(args)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn run_in(directory: &Path, args: &[&str], stdin: &[u8]) -> RunOutput {
    let mut child = start(directory, args);
    let mut to = child.stdin.take().unwrap();
    let bytes = stdin.to_owned();
    // The program may close its input before the end.
    let feed = std::thread::spawn(move || drop(to.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    feed.join().unwrap();
    RunOutput::new(output)
}

/// Runs the program in the root of the repository.
pub(crate) fn run(args: &[&str], stdin: &[u8]) -> RunOutput {
    run_in(&managed_by_testing::root(""), args, stdin)
}

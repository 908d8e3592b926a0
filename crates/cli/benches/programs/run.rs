//! Running programs, and what a run took.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a run took.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Took {
    pub(crate) time: Duration,
    /// The most memory that it had, in KiB.
    pub(crate) memory: u64,
}

/// Runs each command in turn, and gives what each took, the shortest first.
pub(crate) fn turns(runs: usize, commands: &[&dyn Fn() -> Took]) -> Vec<Vec<Took>> {
    let mut took = vec![Vec::new(); commands.len()];
    for _ in 0..runs {
        for (took, command) in took.iter_mut().zip(commands) {
            took.push(command());
        }
    }
    for took in &mut took {
        took.sort_by(|a, b| a.partial_cmp(b).expect("times compare"));
    }
    took
}

/// Runs a command on some cores, or on all, without its output.
pub(crate) fn command(program: &Path, args: &[&str], cores: &[usize]) -> Took {
    let mut command = if cores.is_empty() {
        Command::new(program)
    } else {
        let list: Vec<_> = cores.iter().map(ToString::to_string).collect();
        let mut command = Command::new("taskset");
        command.args(["-c", &list.join(",")]).arg(program);
        command
    };
    let start = Instant::now();
    let child = command
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.unwrap_or_else(|e| {
        println!("{} is not installed: {e}", program.display());
        std::process::exit(1)
    });
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let time = loop {
        if child.try_wait().unwrap().is_some() {
            break start.elapsed();
        }
        memory = peak(&status).max(memory);
        std::thread::sleep(Duration::from_millis(1));
    };
    Took { time, memory }
}

/// The most memory that a process had, in KiB.
fn peak(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

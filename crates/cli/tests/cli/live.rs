//! Tests `kubectl get jobs -w -o json | managed-by replay`: results are printed as they arrive, and totals after a signal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support;

/// Timeout that ends a failing test.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns a Job as kubectl prints it, over many lines.
fn job(name: &str, managed_by: &str, version: u32) -> String {
    format!(
        "{{\n    \"apiVersion\": \"batch/v1\",\n    \"kind\": \"Job\",\n    \"metadata\": {{\n        \"name\": \"{name}\",\n        \"resourceVersion\": \"{version}\",\n        \"uid\": \"{name}\"\n    }},\n    \"spec\": {{\n        \"managedBy\": \"{managed_by}\"\n    }}\n}}\n"
    )
}

fn start(args: &[&str]) -> (Child, Receiver<String>) {
    let mut child = support::start(&managed_by_testing::root(""), args);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (to, from) = channel();
    std::thread::spawn(move || {
        lines
            .map_while(Result::ok)
            .try_for_each(|line| to.send(line))
    });
    (child, from)
}

fn wait_for(lines: &Receiver<String>, start: &str) -> String {
    loop {
        let line = lines.recv_timeout(TIMEOUT).unwrap();
        if line.starts_with(start) {
            return line;
        }
    }
}

#[test]
fn watch_prints_findings_live_and_a_summary() {
    for signal in ["INT", "TERM"] {
        let (mut child, lines) = start(&["replay"]);
        let mut to = child.stdin.take().unwrap();
        for (index, text) in [
            job("a", "a.io/b", 1),
            job("a", "a.io/c", 2),
            job("b", "bad", 3),
        ]
        .iter()
        .enumerate()
        {
            to.write_all(text.as_bytes()).unwrap();
            // Send the next document only after the previous result is printed.
            match index {
                1 => drop(wait_for(&lines, "error[managed-by/immutable]: ")),
                2 => drop(wait_for(&lines, "error[managed-by/format]: ")),
                _ => {}
            }
        }
        // An incomplete document at the end is not an error.
        to.write_all(b"{\n    \"kind\":").unwrap();
        let id = child.id().to_string();
        let mut kill = Command::new("kill");
        kill.args([&format!("-{signal}"), &*id]);
        assert!(kill.status().unwrap().success());
        wait_for(&lines, "KIND ");
        assert!(wait_for(&lines, "Job.batch ").contains("managed-by/format"));
        let mut err = String::new();
        let mut from = child.stderr.take().unwrap();
        from.read_to_string(&mut err).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{err}");
        let totals = "3 documents, 3 requests evaluated: 2 denied, 0 with warnings\n";
        assert!(err.ends_with(totals), "{err}");
        drop(to);
    }
}

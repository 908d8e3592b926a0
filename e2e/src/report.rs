//! What was checked: a line for each thing, and a last line that counts them.

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

/// Counts what it prints.
pub(crate) struct Report {
    started: Instant,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            passed: 0,
            failed: 0,
            skipped: 0,
        }
    }

    /// A heading above the next lines.
    pub(crate) fn section(&self, title: &str) {
        println!("\n# {title} ({} s)", self.started.elapsed().as_secs());
    }

    /// One thing that was checked. Whether it held comes back, because what follows may need it.
    pub(crate) fn check(&mut self, what: &str, outcome: Result<()>) -> bool {
        match outcome {
            Ok(()) => {
                self.passed += 1;
                println!("ok    {what}");
                true
            }
            Err(error) => {
                self.failed += 1;
                println!("FAIL  {what}");
                for line in format!("{error:#}").lines() {
                    println!("      {line}");
                }
                false
            }
        }
    }

    /// The same for something that is needed further on.
    pub(crate) fn need<T>(&mut self, what: &str, outcome: Result<T>) -> Option<T> {
        let (value, outcome) = match outcome {
            Ok(value) => (Some(value), Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.check(what, outcome);
        value
    }

    /// One thing that was not checked, and why.
    pub(crate) fn skip(&mut self, what: &str, why: &str) {
        self.skipped += 1;
        println!("skip  {what}: {why}");
    }

    /// Something that was seen and is worth a line, but is neither right nor wrong.
    #[expect(
        clippy::unused_self,
        reason = "all of the output goes through the report"
    )]
    pub(crate) fn note(&self, text: &str) {
        println!("      {text}");
    }

    /// Prints the counts. The exit code is 0 unless something failed, or was skipped where `NO_SKIP` is set.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\ntook {} s", self.started.elapsed().as_secs());
        println!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        );
        let skipped = self.skipped > 0 && env::var_os("NO_SKIP").is_some();
        ExitCode::from(u8::from(self.failed > 0 || skipped))
    }
}

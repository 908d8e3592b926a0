//! What was checked: a line for each thing, and a last line that counts them.

use std::env;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use anyhow::Result;

/// When the program began: `main` looks at it first.
pub(crate) static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

static PASSED: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// A heading above the next lines.
pub(crate) fn section(title: &str) {
    println!("\n# {title} ({} s)", STARTED.elapsed().as_secs());
}

/// One thing that was checked. Whether it held comes back, because what follows may need it.
pub(crate) fn check(what: &str, outcome: Result<()>) -> bool {
    need(what, outcome).is_some()
}

/// The same for something that is needed further on. Without it the function that needs it ends: all is said.
pub(crate) fn need<T>(what: &str, outcome: Result<T>) -> Option<T> {
    match outcome {
        Ok(value) => {
            PASSED.fetch_add(1, Relaxed);
            println!("ok    {what}");
            Some(value)
        }
        Err(error) => {
            FAILED.fetch_add(1, Relaxed);
            println!("FAIL  {what}");
            for line in format!("{error:#}").lines() {
                println!("      {line}");
            }
            None
        }
    }
}

/// One thing that was not checked, and why.
pub(crate) fn skip(what: &str, why: &str) {
    SKIPPED.fetch_add(1, Relaxed);
    println!("skip  {what}: {why}");
}

/// Something that was seen and is worth a line, but is neither right nor wrong.
pub(crate) fn note(text: &str) {
    println!("      {text}");
}

/// Prints the counts. The exit code is 0 unless something failed, or was skipped where `NO_SKIP` is set.
pub(crate) fn finish() -> ExitCode {
    let [passed, failed, skipped] = [&PASSED, &FAILED, &SKIPPED].map(|count| count.load(Relaxed));
    println!("\ntook {} s", STARTED.elapsed().as_secs());
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    let skipped = skipped > 0 && env::var_os("NO_SKIP").is_some();
    ExitCode::from(u8::from(failed > 0 || skipped))
}

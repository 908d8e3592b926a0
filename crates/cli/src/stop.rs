//! Ctrl-C and SIGTERM. After the first one a command sums up what it knows, and a second one ends it at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long something may wait before it looks whether it is to stop.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether somebody wants an end.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Waits for signals from now on. Where that cannot be, they end the program as ever.
pub(crate) fn on_signals() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            // As a shell says of a program that a signal ended.
            std::process::exit(130);
        }
    });
}

//! Handles Ctrl-C and SIGTERM. After the first signal, a command prints its totals; a second one ends it immediately.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum time between checks for a signal.
pub const INTERVAL: Duration = Duration::from_millis(100);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Installs the signal handlers. If that fails, signals end the program as usual.
pub fn handle_signals() {
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            // The status that a shell reports for a program ended by SIGINT.
            std::process::exit(130);
        }
    });
}

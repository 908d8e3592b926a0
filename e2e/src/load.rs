//! Many requests at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

/// Asks in so many threads, each with the number of the request, until there is nothing more to ask in any of them: `ask` says
/// whether it asked. Says how many were answered.
pub(crate) fn at_once(threads: usize, ask: impl Fn(usize) -> Result<bool> + Sync) -> Result<usize> {
    let (next, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || -> Result<()> {
        while ask(next.fetch_add(1, Ordering::Relaxed))? {
            answered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        Ok(())
    })
    .map(|()| answered.into_inner())
}

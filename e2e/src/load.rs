//! Many requests at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

/// Asks about each of these in so many threads, with its number.
pub(crate) fn at_once<T: Sync>(
    threads: usize,
    all: &[T],
    ask: impl Fn(usize, &T) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(number) else {
                return Ok(());
            };
            ask(number, one)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let mut workers = workers.into_iter();
        workers.try_for_each(|w| w.join().map_err(|_| anyhow!("a thread panicked"))?)
    })
}

//! Many requests at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::report;

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

/// The same where each answer must be the library's, which is noted with the time that it took.
pub(crate) fn none_differ<T: Sync>(
    door: &str,
    threads: usize,
    all: &[T],
    ask: impl Fn(usize, &T) -> Result<()> + Sync,
) -> Result<()> {
    let start = Instant::now();
    at_once(threads, all, ask)?;
    let (count, seconds) = (all.len(), start.elapsed().as_secs_f64());
    report::note(&format!(
        "{door}: {count} requests, none differ, {seconds:.1} s"
    ));
    Ok(())
}

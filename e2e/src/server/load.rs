//! Many requests at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

use super::{Case, verdicts};
use crate::policy_server::PolicyServer;
use crate::report::Report;

/// How many requests.
const REQUESTS: usize = 2000;

/// How many of them are under way at any time: each has a connection, and a process may open 1,024 files.
const AT_ONCE: usize = 200;

pub(super) fn run(report: &mut Report, server: &PolicyServer, cases: &[Case]) {
    report.check(
        &format!("{REQUESTS} requests, {AT_ONCE} at a time: no error, no wrong answer"),
        hammer(server, cases),
    );
}

fn hammer(server: &PolicyServer, cases: &[Case]) -> Result<()> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= REQUESTS {
                return Ok(());
            }
            verdicts::judged(server, &cases[number % cases.len()])?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        Ok(())
    })
}

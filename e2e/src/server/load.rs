//! Many requests at once.

use anyhow::{Result, ensure};

use super::{Case, verdicts};
use crate::load;
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
    let answered = load::at_once(AT_ONCE, |number| {
        if number >= REQUESTS {
            return Ok(false);
        }
        verdicts::judged(server, &cases[number % cases.len()])?;
        Ok(true)
    })?;
    ensure!(answered == REQUESTS, "{answered} answers");
    Ok(())
}

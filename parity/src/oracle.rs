//! Runs the programs that are built from `oracle/`, which evaluate cases with kube-apiserver's own code.

use std::env;
use std::io::{BufRead as _, BufReader, BufWriter, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use managed_by::Release;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::compare::is_same;
use crate::vector::{Case, FieldError, ValidationResult, Vector, is_patch};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    errors: Vec<FieldError>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    others: Vec<String>,
    #[serde(default)]
    malformed: String,
    #[serde(default)]
    panic: String,
}

/// A running program with kube-apiserver's code of one release.
pub struct Oracle {
    name: String,
    child: Child,
}

/// Output of a running program: one result per case, in order.
pub struct Results {
    lines: Lines<BufReader<ChildStdout>>,
}

impl Oracle {
    /// Starts the program of a release, from `oracle/bin` or the directory in `ORACLES`.
    pub fn start(release: Release) -> Result<Self> {
        let name = format!("oracle/bin/{}", release.as_str());
        let program = env::var_os("ORACLES").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join(&name),
            |directory| Path::new(&directory).join(release.as_str()),
        );
        let mut command = Command::new(program);
        // The program allocates much and retains little, so less frequent garbage collection is faster.
        command.env("GOGC", "400");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let child = child.with_context(|| format!("{name} (make oracle builds it)"))?;
        Ok(Self { name, child })
    }

    /// Returns standard input, for one case as JSON per line, and the results. Can be called once.
    pub fn pipes(&mut self) -> Result<(ChildStdin, Results)> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        let (input, output) = pipes.with_context(|| format!("{}: no pipes", self.name))?;
        let lines = BufReader::with_capacity(1 << 20, output).lines();
        Ok((input, Results { lines }))
    }

    /// Kills the program, so that the thread that writes to it does not block.
    fn stop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
    }

    /// Waits until the program exits, which it does at the end of its input.
    pub fn finish(mut self) -> Result<()> {
        let status = self.child.wait().with_context(|| self.name.clone())?;
        ensure!(status.success(), "{}: {status}", self.name);
        Ok(())
    }
}

impl Results {
    fn line<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let line = self.lines.next();
        let line = line.with_context(|| format!("no result for {name}"))?;
        let line = line.with_context(|| name.to_owned())?;
        serde_json::from_str(&line).with_context(|| name.to_owned())
    }
}

/// Returns the results of one release, in the order of the cases.
pub fn results(release: Release, cases: &[Case]) -> Result<Vec<ValidationResult>> {
    let mut results = Vec::new();
    let cases = cases.iter().cloned();
    each(release, cases, |_, result| results.push(result))?;
    Ok(results)
}

/// Calls `handle` with each case and the result of one release.
///
/// It iterates over the cases twice, in a thread that writes them and in one that reads the results, so that neither blocks the other.
pub(crate) fn each<I>(
    release: Release,
    cases: I,
    mut handle: impl FnMut(Case, ValidationResult),
) -> Result<()>
where
    I: Iterator<Item = Case> + Clone + Send,
{
    each_line(release, cases, |case, line| {
        let result = parse(release, &case.name, line)?;
        handle(case, result);
        Ok(())
    })
}

/// Like [`each`], with results of another type.
pub(crate) fn each_line<I, T: DeserializeOwned>(
    release: Release,
    cases: I,
    mut handle: impl FnMut(Case, T) -> Result<()>,
) -> Result<()>
where
    I: Iterator<Item = Case> + Clone + Send,
{
    let mut oracle = Oracle::start(release)?;
    let (input, mut results) = oracle.pipes()?;
    let sent = cases.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut input = BufWriter::with_capacity(1 << 20, input);
            for case in sent {
                // If the program has exited, reading its results fails too and reports the error.
                if serde_json::to_writer(&mut input, &case).is_err()
                    || input.write_all(b"\n").is_err()
                {
                    return;
                }
            }
        });
        for case in cases {
            let line = results.line(&case.name);
            let handled = line.and_then(|line| handle(case, line));
            handled.inspect_err(|_| oracle.stop())?;
        }
        anyhow::Ok(())
    })?;
    oracle.finish()
}

fn parse(release: Release, name: &str, line: Line) -> Result<ValidationResult> {
    let at = format!("{release} on {name}");
    ensure!(line.name == name, "{at}: returned {}", line.name);
    ensure!(line.panic.is_empty(), "{at}: {}", line.panic);
    if let Some(other) = line.others.first() {
        bail!("{at}: {other}");
    }
    Ok(ValidationResult {
        releases: vec![release.as_str().to_owned()],
        errors: line.errors,
        message: line.message,
        malformed: !line.malformed.is_empty(),
    })
}

/// Returns each case with the results of all releases. Releases with equal results share one. A patch release whose result equals the
/// next release's is left out.
pub fn vectors(cases: Vec<Case>) -> Result<Vec<Vector>> {
    let mut merged: Vec<Vec<ValidationResult>> = vec![Vec::new(); cases.len()];
    let mut newer: Option<Vec<ValidationResult>> = None;
    for &release in Release::ALL.iter().rev() {
        let found = results(release, &cases)?;
        for (index, (all, new)) in merged.iter_mut().zip(&found).enumerate() {
            let newer = newer.as_ref().and_then(|newer| newer.get(index));
            if is_patch(release) && newer.is_some_and(|newer| is_same(newer, new)) {
                continue;
            }
            match all.iter_mut().find(|a| is_same(a, new)) {
                Some(result) => result
                    .releases
                    .splice(..0, new.releases.clone())
                    .for_each(drop),
                None => all.push(new.clone()),
            }
        }
        newer = Some(found);
    }
    for all in &mut merged {
        all.sort_by_key(|result| {
            result
                .releases
                .iter()
                .find_map(|r| r.parse::<Release>().ok())
        });
    }
    let vector = |(case, results)| Vector { case, results };
    Ok(cases.into_iter().zip(merged).map(vector).collect())
}

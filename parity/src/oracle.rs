//! Runs the programs that are built from `oracle/`, which evaluate cases with kube-apiserver's own code.

use std::env;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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

/// Starts the program with kube-apiserver's code of a release, from `oracle/bin` or the directory in `ORACLES`.
fn start(release: Release) -> Result<Child> {
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
    child.with_context(|| format!("{name} (make oracle builds it)"))
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
    let mut oracle = start(release)?;
    let pipes = oracle.stdin.take().zip(oracle.stdout.take());
    let (input, output) = pipes.context("no pipes")?;
    let mut lines = BufReader::with_capacity(1 << 20, output).lines();
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
            let name = case.name.clone();
            let line = lines.next().context("no result");
            let line = line.and_then(|line| Ok(serde_json::from_str(&line?)?));
            let handled = line.and_then(|line| handle(case, line));
            // Otherwise the thread that writes would block. The program may have exited already.
            let handled = handled.inspect_err(|_| drop(oracle.kill()));
            handled.with_context(|| format!("{release} on {name}"))?;
        }
        anyhow::Ok(())
    })?;
    let status = oracle.wait()?;
    ensure!(status.success(), "{release}: {status}");
    Ok(())
}

fn parse(release: Release, name: &str, line: Line) -> Result<ValidationResult> {
    ensure!(line.name == name, "returned {}", line.name);
    ensure!(line.panic.is_empty(), "{}", line.panic);
    if let Some(other) = line.others.first() {
        bail!("{other}");
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

//! Runs the programs that are built from `oracle/`, which answer cases with kube-apiserver's own code.

use std::io::{BufRead as _, BufReader, BufWriter, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use managed_by::Release;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::compare::is_same;
use crate::vector::{Answer, Case, FieldError, Vector};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    errors: Vec<ErrorLine>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    others: Vec<String>,
    #[serde(default)]
    unreadable: String,
    #[serde(default)]
    panic: String,
}

#[derive(Deserialize)]
struct ErrorLine {
    field: String,
    error: String,
}

/// A running program with kube-apiserver's code of one release.
pub struct Oracle {
    name: String,
    child: Child,
}

/// Output of a running program: one answer per case, in order.
pub struct Answers {
    lines: Lines<BufReader<ChildStdout>>,
}

impl Oracle {
    /// Starts the program of a release.
    ///
    /// # Errors
    /// If it is not built.
    pub fn start(release: Release) -> Result<Self> {
        let name = format!("oracle/bin/{}", release.as_str());
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
        let mut command = Command::new(program);
        // The program allocates much and retains little, so less frequent garbage collection is faster.
        command.env("GOGC", "400");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let child = child.with_context(|| format!("{name} (make oracle builds it)"))?;
        Ok(Self { name, child })
    }

    /// Returns standard input, for one case as JSON per line, and the answers. Can be called once.
    ///
    /// # Errors
    /// If it is called again.
    pub fn pipes(&mut self) -> Result<(ChildStdin, Answers)> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        let (input, output) = pipes.with_context(|| format!("{}: no pipes", self.name))?;
        let lines = BufReader::with_capacity(1 << 20, output).lines();
        Ok((input, Answers { lines }))
    }

    /// Kills the program, so that its input is not blocked.
    fn stop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
    }

    /// Waits until the program exits, which it does at the end of its input.
    ///
    /// # Errors
    /// If its exit status is not zero.
    pub fn finish(mut self) -> Result<()> {
        let status = self.child.wait().with_context(|| self.name.clone())?;
        ensure!(status.success(), "{}: {status}", self.name);
        Ok(())
    }
}

impl Answers {
    /// Reads the answer to the next case.
    ///
    /// # Errors
    /// If there is no answer, upstream's code panicked, or it reported errors outside this project's scope.
    fn next(&mut self, release: Release, case: &Case) -> Result<Answer> {
        parse(release, &case.name, self.line(&case.name)?)
    }

    fn line<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let line = self.lines.next();
        let line = line.with_context(|| format!("no answer to {name}"))?;
        let line = line.with_context(|| name.to_owned())?;
        serde_json::from_str(&line).with_context(|| name.to_owned())
    }
}

/// Returns the answers of one release, in the order of the cases.
///
/// # Errors
/// If the program is not built or stops early, upstream's code panics, or it reports errors outside this project's scope.
pub fn answers(release: Release, cases: &[Case]) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    let cases = cases.iter().cloned();
    each(release, cases, |_, answer| answers.push(answer))?;
    Ok(answers)
}

/// Calls `handle` with each case and the answer of one release.
///
/// It iterates over the cases twice, in a thread that writes them and in one that reads the answers, so that neither blocks the other.
///
/// # Errors
/// If [`answers`] would fail.
pub(crate) fn each<I>(
    release: Release,
    cases: I,
    mut handle: impl FnMut(Case, Answer),
) -> Result<()>
where
    I: Iterator<Item = Case> + Clone + Send,
{
    let mut oracle = Oracle::start(release)?;
    let (input, mut answers) = oracle.pipes()?;
    let sent = cases.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut input = BufWriter::with_capacity(1 << 20, input);
            for case in sent {
                // If the program has exited, reading its answers fails too and reports the error.
                if serde_json::to_writer(&mut input, &case).is_err()
                    || input.write_all(b"\n").is_err()
                {
                    return;
                }
            }
        });
        for case in cases {
            let answer = answers.next(release, &case);
            handle(case, answer.inspect_err(|_| oracle.stop())?);
        }
        anyhow::Ok(())
    })?;
    oracle.finish()
}

fn parse(release: Release, name: &str, line: Line) -> Result<Answer> {
    let at = format!("{release} on {name}");
    ensure!(line.name == name, "{at}: answered {}", line.name);
    ensure!(line.panic.is_empty(), "{at}: {}", line.panic);
    if let Some(other) = line.others.first() {
        bail!("{at}: {other}");
    }
    let errors = line.errors.into_iter();
    let error = |ErrorLine { field, error }| FieldError { field, error };
    Ok(Answer {
        releases: vec![release.as_str().to_owned()],
        errors: errors.map(error).collect(),
        message: line.message,
        unreadable: !line.unreadable.is_empty(),
    })
}

/// Returns each case with the answers of all releases. Releases with equal answers share one.
///
/// # Errors
/// If [`answers`] fails for a release.
pub fn vectors(cases: Vec<Case>) -> Result<Vec<Vector>> {
    let mut merged: Vec<Vec<Answer>> = vec![Vec::new(); cases.len()];
    for &release in Release::ALL {
        for (all, new) in merged.iter_mut().zip(answers(release, &cases)?) {
            match all.iter_mut().find(|a| is_same(a, &new)) {
                Some(answer) => answer.releases.extend(new.releases),
                None => all.push(new),
            }
        }
    }
    let vector = |(case, answers)| Vector { case, answers };
    Ok(cases.into_iter().zip(merged).map(vector).collect())
}

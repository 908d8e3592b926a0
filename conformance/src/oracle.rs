//! Asks upstream's own code, through the programs built from `oracle/`.

use std::io::{BufRead as _, BufReader, BufWriter, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use managed_by::Release;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::compare::same;
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

/// A running program of one release.
pub struct Oracle {
    name: String,
    child: Child,
}

/// The answers of a running program, in the order of the questions.
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
        // It throws away much and keeps little, so it may collect later.
        command.env("GOGC", "400");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let child = child.with_context(|| format!("{name} (make oracle builds it)"))?;
        Ok(Self { name, child })
    }

    /// Where cases go in, one JSON object a line, and answers come out. Can be asked for once.
    ///
    /// # Errors
    /// If it has been.
    pub fn pipes(&mut self) -> Result<(ChildStdin, Answers)> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        let (input, output) = pipes.with_context(|| format!("{}: no pipes", self.name))?;
        let lines = BufReader::with_capacity(1 << 20, output).lines();
        Ok((input, Answers { lines }))
    }

    /// Ends the program at once, so that nobody waits for it.
    fn stop(&mut self) {
        // One that has ended already is as good.
        let _ = self.child.kill();
    }

    /// Waits for the program to end, as it does when its input is closed.
    ///
    /// # Errors
    /// If it does not end well.
    pub fn finish(mut self) -> Result<()> {
        let status = self.child.wait().with_context(|| self.name.clone())?;
        ensure!(status.success(), "{}: {status}", self.name);
        Ok(())
    }
}

impl Answers {
    /// The answer to the next case.
    ///
    /// # Errors
    /// If there is none, if upstream's code panicked, or if it found faults that are not the case's point.
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

/// What one release says to each case, in order.
///
/// # Errors
/// If its program is not built, if it stops early, if upstream's code panics, or if it finds faults with a case that
/// are not the case's point.
pub fn ask(release: Release, cases: &[Case]) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    let cases = cases.iter().cloned();
    each(release, cases, |_, answer| answers.push(answer))?;
    Ok(answers)
}

/// Asks one release about cases, and tells each with its answer. The cases are made twice, to be asked and to be compared, so that
/// neither waits for the other.
///
/// # Errors
/// As [`ask`].
pub(crate) fn each<I>(release: Release, cases: I, mut tell: impl FnMut(Case, Answer)) -> Result<()>
where
    I: Iterator<Item = Case> + Clone + Send,
{
    let mut oracle = Oracle::start(release)?;
    let (input, mut answers) = oracle.pipes()?;
    let asked = cases.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut input = BufWriter::with_capacity(1 << 20, input);
            for case in asked {
                // An oracle that died says so at the other end.
                if serde_json::to_writer(&mut input, &case).is_err()
                    || input.write_all(b"\n").is_err()
                {
                    return;
                }
            }
        });
        for case in cases {
            let answer = answers.next(release, &case);
            tell(case, answer.inspect_err(|_| oracle.stop())?);
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

/// What every release says to each case; equal answers are written once.
///
/// # Errors
/// As [`ask`].
pub fn vectors(cases: Vec<Case>) -> Result<Vec<Vector>> {
    let mut answers: Vec<Vec<Answer>> = vec![Vec::new(); cases.len()];
    for &release in Release::ALL {
        for (all, new) in answers.iter_mut().zip(ask(release, &cases)?) {
            match all.iter_mut().find(|a| same(a, &new)) {
                Some(answer) => answer.releases.extend(new.releases),
                None => all.push(new),
            }
        }
    }
    let vector = |(case, answers)| Vector { case, answers };
    Ok(cases.into_iter().zip(answers).map(vector).collect())
}

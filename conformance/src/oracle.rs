//! Asks upstream's own code, through the programs built from `oracle/`.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use managed_by::Release;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Error;
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairsLine {
    name: String,
    answers: Vec<Line>,
    pairs: Vec<u32>,
    #[serde(default)]
    panic: String,
}

/// What is said of every pair of some Jobs: the first as the old one with each as the new one, then the second.
pub struct Pairs {
    /// The answers, none twice.
    pub answers: Vec<Answer>,
    /// For each pair the place of its answer.
    pub places: Vec<u32>,
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
    pub fn start(release: Release) -> Result<Self, Error> {
        let name = format!("oracle/bin/{}", release.as_str());
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
        let mut command = Command::new(program);
        // It throws away much and keeps little, so it may collect later.
        command.env("GOGC", "400");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        match command.spawn() {
            Ok(child) => Ok(Self { name, child }),
            Err(e) => Err(Error::Io(format!("{name} (make oracle builds it)"), e)),
        }
    }

    /// Where cases go in, one JSON object a line, and answers come out. Can be asked for once.
    ///
    /// # Errors
    /// If it has been.
    pub fn pipes(&mut self) -> Result<(ChildStdin, Answers), Error> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        let (input, output) =
            pipes.ok_or_else(|| Error::Oracle(format!("{}: no pipes", self.name)))?;
        let lines = BufReader::with_capacity(1 << 20, output).lines();
        Ok((input, Answers { lines }))
    }

    /// Ends the program at once, so that nobody waits for it.
    pub fn stop(&mut self) {
        // One that has ended already is as good.
        let _ = self.child.kill();
    }

    /// Waits for the program to end, as it does when its input is closed.
    ///
    /// # Errors
    /// If it does not end well.
    pub fn finish(mut self) -> Result<(), Error> {
        let status = self
            .child
            .wait()
            .map_err(|e| Error::Io(self.name.clone(), e))?;
        if status.success() {
            Ok(())
        } else {
            Err(Error::Oracle(format!("{}: {status}", self.name)))
        }
    }
}

impl Answers {
    /// The answer to the next case.
    ///
    /// # Errors
    /// If there is none, if upstream's code panicked, or if it found faults that are not the case's point.
    pub fn next(&mut self, release: Release, case: &Case) -> Result<Answer, Error> {
        parse(release, &case.name, self.line(&case.name)?)
    }

    /// The answers to a question about pairs.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn next_pairs(&mut self, release: Release, name: &str) -> Result<Pairs, Error> {
        let line: PairsLine = self.line(name)?;
        if line.name != name || !line.panic.is_empty() {
            let text = format!("{} on {name}: {}", release.as_str(), line.panic);
            return Err(Error::Oracle(text));
        }
        let answers = line.answers.into_iter();
        Ok(Pairs {
            answers: answers
                .map(|answer| parse(release, name, answer))
                .collect::<Result<_, _>>()?,
            places: line.pairs,
        })
    }

    fn line<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Error> {
        match self.lines.next() {
            Some(Ok(line)) => {
                serde_json::from_str(&line).map_err(|e| Error::Json(name.to_owned(), e))
            }
            Some(Err(e)) => Err(Error::Io(name.to_owned(), e)),
            None => Err(Error::Oracle(format!("no answer to {name}"))),
        }
    }
}

/// What one release says to each case, in order.
///
/// # Errors
/// If its program is not built, if it stops early, if upstream's code panics, or if it finds faults with a case that
/// are not the case's point.
pub fn ask(release: Release, cases: &[Case]) -> Result<Vec<Answer>, Error> {
    let mut oracle = Oracle::start(release)?;
    let (mut input, mut answers) = oracle.pipes()?;
    let answers = thread::scope(|scope| {
        scope.spawn(move || {
            for case in cases {
                // An oracle that died says so at the other end.
                if serde_json::to_writer(&mut input, case).is_err()
                    || input.write_all(b"\n").is_err()
                {
                    return;
                }
            }
        });
        let answers = cases.iter().map(|case| answers.next(release, case));
        let answers = answers.collect::<Result<Vec<_>, _>>();
        answers.inspect_err(|_| oracle.stop())
    })?;
    oracle.finish()?;
    Ok(answers)
}

fn parse(release: Release, name: &str, line: Line) -> Result<Answer, Error> {
    let fault = |what: &str| {
        let text = format!("{} on {name}: {what}", release.as_str());
        Err(Error::Oracle(text))
    };
    if line.name != name {
        return fault(&format!("answered {}", line.name));
    }
    if !line.panic.is_empty() {
        return fault(&line.panic);
    }
    if let Some(other) = line.others.first() {
        return fault(other);
    }
    let error = |e: ErrorLine| FieldError {
        field: e.field,
        error: e.error,
    };
    Ok(Answer {
        releases: vec![release.as_str().to_owned()],
        errors: line.errors.into_iter().map(error).collect(),
        message: line.message,
        unreadable: !line.unreadable.is_empty(),
    })
}

/// What every release says to each case; equal answers are written once.
///
/// # Errors
/// As [`ask`].
pub fn vectors(cases: Vec<Case>) -> Result<Vec<Vector>, Error> {
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

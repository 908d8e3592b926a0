//! Asks upstream's own code, through the programs built from `oracle/`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use managed_by::Release;
use serde::Deserialize;

use crate::Error;
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

/// What one release says to each case, in order.
///
/// # Errors
/// If its program is not built, if it stops early, if upstream's code panics, or if it finds faults with a case that
/// are not the case's point.
pub fn ask(release: Release, cases: &[Case]) -> Result<Vec<Answer>, Error> {
    let name = format!("oracle/bin/{}", release.as_str());
    let io = |e| Error::Io(format!("{name} (make conformance builds it)"), e);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io)?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::Oracle(format!("{name}: no pipes")));
    };
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
        let lines = BufReader::new(output).lines().zip(cases);
        let answers = lines.map(|(line, case)| parse(release, case, &line.map_err(io)?));
        answers.collect::<Result<Vec<_>, _>>()
    })?;
    let status = child.wait().map_err(io)?;
    if !status.success() || answers.len() != cases.len() {
        let text = format!(
            "{name}: {status} after {} of {} cases",
            answers.len(),
            cases.len()
        );
        return Err(Error::Oracle(text));
    }
    Ok(answers)
}

fn parse(release: Release, case: &Case, line: &str) -> Result<Answer, Error> {
    let line: Line = serde_json::from_str(line).map_err(|e| Error::Json(case.name.clone(), e))?;
    let fault = |what: &str| {
        let text = format!("{} on {}: {what}", release.as_str(), case.name);
        Err(Error::Oracle(text))
    };
    if line.name != case.name {
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
    for release in Release::ALL {
        for (all, new) in answers.iter_mut().zip(ask(release, &cases)?) {
            match all.iter_mut().find(|a| says_the_same(a, &new)) {
                Some(answer) => answer.releases.extend(new.releases),
                None => all.push(new),
            }
        }
    }
    let vector = |(case, answers)| Vector { case, answers };
    Ok(cases.into_iter().zip(answers).map(vector).collect())
}

fn says_the_same(a: &Answer, b: &Answer) -> bool {
    (&a.errors, &a.message, a.unreadable) == (&b.errors, &b.message, b.unreadable)
}

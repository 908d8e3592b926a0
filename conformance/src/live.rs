//! Generated cases, asked of upstream's code and of the library at the same time.

use anyhow::{Context as _, Result};
use managed_by::{Release, Settings};
use serde_json::Value;

use crate::compare::{ours, same};
use crate::generate::Generator;
use crate::oracle;
use crate::vector::{Answer, Case};

/// What a live run found.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases asked.
    pub cases: u64,
    /// Cases to which upstream had errors.
    pub denied: u64,
    /// Cases on which the two differ.
    pub mismatches: u64,
    /// The first of them, made small, with upstream's answer and ours.
    pub first: Option<(Case, Answer, Answer)>,
}

/// Asks one release.
///
/// # Errors
/// As [`oracle::ask`].
pub fn run(release: Release, cases: u64, seed: u64) -> Result<Report> {
    let settings = Settings::for_release(release).for_tools();
    let mut report = Report::default();
    let mut first: Option<Case> = None;
    let mut generator = Generator::new(seed);
    let generated = (0..cases).map(move |number| generator.any_case(number));
    oracle::each(release, generated, |case, upstream| {
        report.cases = report.cases.saturating_add(1);
        if !upstream.errors.is_empty() {
            report.denied = report.denied.saturating_add(1);
        }
        if !same(&upstream, &ours(&case, &settings)) {
            report.mismatches = report.mismatches.saturating_add(1);
            first.get_or_insert(case);
        }
    })?;
    if let Some(case) = first {
        report.first = Some(shrink(release, case)?);
    }
    Ok(report)
}

/// The smallest case that still differs, by leaving out one part after another.
fn shrink(release: Release, mut case: Case) -> Result<(Case, Answer, Answer)> {
    let settings = Settings::for_release(release).for_tools();
    let ask = |case: &Case| -> Result<(Answer, Answer)> {
        let upstream = oracle::ask(release, std::slice::from_ref(case))?
            .into_iter()
            .next();
        let upstream = upstream.context("no answer")?;
        Ok((upstream, ours(case, &settings)))
    };
    'smaller: loop {
        for candidate in smaller(&case) {
            // A part that upstream cannot do without is kept.
            if let Ok((upstream, ours)) = ask(&candidate)
                && !same(&upstream, &ours)
            {
                case = candidate;
                continue 'smaller;
            }
        }
        let (upstream, ours) = ask(&case)?;
        return Ok((case, upstream, ours));
    }
}

/// The case with one member or element of its specs and statuses left out.
fn smaller(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for part in [
        "/spec",
        "/spec/template/metadata",
        "/spec/template/spec",
        "/spec/template/spec/affinity",
        "/status",
        "/status/conditions",
        "/status/uncountedTerminatedPods",
    ] {
        for old in [false, true] {
            let side = if old {
                case.old_object.as_ref()
            } else {
                Some(&case.object)
            };
            let count = match side.and_then(|object| object.pointer(part)) {
                Some(Value::Object(members)) => members.len(),
                Some(Value::Array(list)) => list.len(),
                _ => 0,
            };
            for index in 0..count {
                let mut candidate = case.clone();
                let side = if old {
                    candidate.old_object.as_mut()
                } else {
                    Some(&mut candidate.object)
                };
                match side.and_then(|object| object.pointer_mut(part)) {
                    Some(Value::Object(members)) => {
                        let key = members.keys().nth(index).cloned().unwrap_or_default();
                        members.remove(&key);
                    }
                    Some(Value::Array(list)) => drop(list.remove(index)),
                    _ => {}
                }
                candidates.push(candidate);
            }
        }
    }
    candidates
}

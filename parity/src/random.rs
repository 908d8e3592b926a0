//! Compares upstream's code with the library on generated cases (`make parity-random`).

use anyhow::{Context as _, Result};
use managed_by::{Release, Settings};
use serde_json::Value;

use crate::compare::{is_same, library_result};
use crate::generate::Generator;
use crate::oracle;
use crate::vector::{Case, ValidationResult};

/// Result of a run for one release.
#[derive(Debug, Default)]
pub struct Report {
    pub cases: u64,
    /// Cases for which upstream returned errors.
    pub denied: u64,
    /// Cases with different results.
    pub mismatches: u64,
    /// First mismatch, minimized, with upstream's and the library's result.
    pub first: Option<(Case, ValidationResult, ValidationResult)>,
}

/// Compares `cases` cases for one release that `generate` returns for their numbers.
pub fn run(
    release: Release,
    cases: u64,
    seed: u64,
    generate: fn(&mut Generator, u64) -> Case,
) -> Result<Report> {
    let settings = Settings::for_release(release).for_tools();
    let mut report = Report::default();
    let mut first: Option<Case> = None;
    let mut generator = Generator::new(seed);
    let generated = (0..cases).map(move |number| generate(&mut generator, number));
    oracle::each(release, generated, |case, upstream| {
        report.cases = report.cases.saturating_add(1);
        if !upstream.errors.is_empty() {
            report.denied = report.denied.saturating_add(1);
        }
        if !is_same(&upstream, &library_result(&case, &settings)) {
            report.mismatches = report.mismatches.saturating_add(1);
            first.get_or_insert(case);
        }
    })?;
    if let Some(case) = first {
        report.first = Some(shrink(release, case)?);
    }
    Ok(report)
}

/// Minimizes a mismatch by removing members and elements as long as the results still differ.
fn shrink(release: Release, mut case: Case) -> Result<(Case, ValidationResult, ValidationResult)> {
    let settings = Settings::for_release(release).for_tools();
    let results = |case: &Case| -> Result<(ValidationResult, ValidationResult)> {
        let upstream = oracle::results(release, std::slice::from_ref(case))?
            .into_iter()
            .next();
        let upstream = upstream.context("no result")?;
        Ok((upstream, library_result(case, &settings)))
    };
    'smaller: loop {
        for candidate in shrink_candidates(&case) {
            // An error means that upstream requires the part.
            if let Ok((upstream, library)) = results(&candidate)
                && !is_same(&upstream, &library)
            {
                case = candidate;
                continue 'smaller;
            }
        }
        let (upstream, library) = results(&case)?;
        return Ok((case, upstream, library));
    }
}

/// Returns the case without one member or element of its specs and statuses, for each of them.
fn shrink_candidates(case: &Case) -> Vec<Case> {
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

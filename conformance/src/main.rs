//! What asks kube-apiserver's own code, and the library.

use std::fs;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use managed_by::Release;
use managed_by_conformance::generate::Generator;
use managed_by_conformance::unset::Counts;
use managed_by_conformance::vector::write_lines;
use managed_by_conformance::{cases, live, oracle, trace, vector};

#[derive(Parser)]
#[command(about)]
enum Command {
    /// Write the vectors anew from upstream's code
    Update,
    /// Fail if that would change them
    Verify,
    /// Ask upstream's code and the library about generated cases
    Live {
        cases: u64,
        seed: u64,
        /// All, if none is named
        releases: Vec<Release>,
    },
    /// Ask the library about generated cases without a release and with each
    Unset { cases: u64, seed: u64 },
}

#[expect(clippy::print_stdout, reason = "a command")]
fn main() -> Result<()> {
    let line = match Command::parse() {
        Command::Update => update(),
        Command::Verify => verify(),
        Command::Live {
            cases,
            seed,
            releases,
        } => live(cases, seed, &or_all(releases)),
        Command::Unset { cases, seed } => unset(cases, seed),
    }?;
    println!("{line}");
    Ok(())
}

fn or_all(releases: Vec<Release>) -> Vec<Release> {
    if releases.is_empty() {
        Release::ALL.to_vec()
    } else {
        releases
    }
}

#[expect(
    clippy::print_stdout,
    reason = "a command that takes long tells how far it is"
)]
fn live(cases: u64, seed: u64, releases: &[Release]) -> Result<String> {
    ensure!(cases > 0, "no cases");
    let mut mismatches = 0_u64;
    for &release in releases {
        let start = Instant::now();
        let report = live::run(release, cases, seed)?;
        mismatches = mismatches.saturating_add(report.mismatches);
        println!(
            "{release}: {} cases, {} denied, {} mismatches, {:.1} s",
            report.cases,
            report.denied,
            report.mismatches,
            start.elapsed().as_secs_f64()
        );
        if let Some((case, upstream, ours)) = report.first {
            println!("first mismatch:  {}", case.request());
            println!("upstream:        {upstream:?}");
            println!("the library:     {ours:?}");
        }
    }
    ensure!(mismatches == 0, "{mismatches} mismatches");
    Ok(format!("seed {seed}: no mismatch"))
}

fn unset(cases: u64, seed: u64) -> Result<String> {
    let start = Instant::now();
    let mut generator = Generator::new(seed);
    let mut counts = Counts::default();
    for number in 0..cases {
        counts.add(&generator.case(number))?;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!("{counts:?}, {seconds:.1} s"))
}

fn update() -> Result<String> {
    let mut count = 0_usize;
    for file in vector::FILES {
        let cases = cases::of(file)?;
        count = count.saturating_add(cases.len());
        write_lines(&vector::folder().join(file), &oracle::vectors(cases)?)?;
    }
    let traces = trace::ask()?;
    count = count.saturating_add(traces.len());
    trace::write(traces)?;
    Ok(format!("{count} vectors written"))
}

fn verify() -> Result<String> {
    let mut count = 0_usize;
    for entry in fs::read_dir(vector::folder()).context("vectors")?.flatten() {
        let name = entry.file_name();
        let is_known = vector::FILES.iter().any(|file| name == *file);
        ensure!(is_known, "{} is made from nothing", name.display());
    }
    for file in vector::FILES {
        let cases = cases::of(file)?;
        count = count.saturating_add(cases.len());
        let is_same = oracle::vectors(cases)? == vector::read(file)?;
        ensure!(is_same, "{file} would change: make conformance");
    }
    let traces = trace::ask()?;
    count = count.saturating_add(traces.len());
    let is_same = traces == trace::vectors()?;
    ensure!(is_same, "verdicts on traces would change: make conformance");
    Ok(format!("{count} vectors verified"))
}

//! Command line that compares kube-apiserver's code with the library, and writes the vectors.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use managed_by::Release;
use managed_by_parity::default_release::CaseCounts;
use managed_by_parity::generate::Generator;
use managed_by_parity::vector::{Case, to_lines};
use managed_by_parity::{cases, change, fields, oracle, random, trace, vector};

#[derive(Parser)]
#[command(about)]
enum Command {
    /// Update the vectors with upstream's code
    Update,
    /// Fail if an update would change the vectors
    Verify,
    /// Compare upstream's code and the library on randomly generated cases
    Random {
        cases: u64,
        seed: u64,
        /// Releases to compare
        #[arg(default_values_t = Release::ALL)]
        releases: Vec<Release>,
        /// Generate only changes that patch releases of the same minor release may judge differently
        #[arg(long)]
        patches: bool,
    },
    /// Compare upstream's code and the library on generated changes of manifests
    Changes {
        cases: u64,
        seed: u64,
        /// Releases to compare
        #[arg(default_values_t = change::RELEASES)]
        releases: Vec<Release>,
    },
    /// Compare the library's verdicts without a release and with each release on generated cases
    DefaultRelease { cases: u64, seed: u64 },
}

#[expect(clippy::print_stdout, reason = "a command")]
fn main() -> Result<()> {
    let line = match Command::parse() {
        Command::Update => update(),
        Command::Verify => verify(),
        Command::Random {
            cases,
            seed,
            releases,
            patches,
        } => {
            let generate = if patches {
                Generator::patch_case
            } else {
                Generator::any_case
            };
            compare_random(cases, seed, &releases, generate)
        }
        Command::Changes {
            cases,
            seed,
            releases,
        } => compare_changes(cases, seed, &releases),
        Command::DefaultRelease { cases, seed } => compare_default_release(cases, seed),
    }?;
    println!("{line}");
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "a long-running command reports its progress"
)]
fn compare_random(
    cases: u64,
    seed: u64,
    releases: &[Release],
    generate: fn(&mut Generator, u64) -> Case,
) -> Result<String> {
    ensure!(cases > 0, "no cases");
    let mut mismatches = 0_u64;
    for &release in releases {
        let start = Instant::now();
        let report = random::run(release, cases, seed, generate)?;
        mismatches = mismatches.saturating_add(report.mismatches);
        println!(
            "{release}: {} cases, {} denied, {} mismatches, {:.1} s",
            report.cases,
            report.denied,
            report.mismatches,
            start.elapsed().as_secs_f64()
        );
        if let Some((case, upstream, library)) = report.first {
            println!("first mismatch:  {}", case.request());
            println!("upstream:        {upstream:?}");
            println!("the library:     {library:?}");
        }
    }
    ensure!(mismatches == 0, "{mismatches} mismatches");
    Ok(format!("seed {seed}: no mismatches"))
}

#[expect(
    clippy::print_stdout,
    reason = "a long-running command reports its progress"
)]
fn compare_changes(cases: u64, seed: u64, releases: &[Release]) -> Result<String> {
    let mut mistakes = 0_u64;
    for &release in releases {
        let (counts, found) = change::run(release, cases, seed)?;
        for (of, counts) in ["manifests", "applied objects", "created objects"]
            .iter()
            .zip(counts)
        {
            println!("{release}, {of}: {counts}");
            mistakes = mistakes.saturating_add(counts.mistakes());
        }
        for (case, result, outcome) in found {
            let library = change::library_result(&case, release);
            let manifests = serde_json::to_string(&case)?;
            println!(
                "{outcome:?}: {}\n  {result}\n  {library:?}\n  {manifests}",
                case.name
            );
        }
    }
    ensure!(mistakes == 0, "{mistakes} mistakes");
    Ok(format!("seed {seed}: no mistakes"))
}

fn compare_default_release(cases: u64, seed: u64) -> Result<String> {
    let start = Instant::now();
    let mut generator = Generator::new(seed);
    let mut counts = CaseCounts::default();
    for number in 0..cases {
        counts.check(&generator.case(number))?;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!("{counts:?}, {seconds:.1} s"))
}

/// Returns the files that upstream's code determines, each with its text.
fn files() -> Result<Vec<(PathBuf, String)>> {
    let vectors = vector::FILES.into_iter().map(|file| {
        let vectors = oracle::vectors(cases::read(file)?)?;
        Ok((vector::directory().join(file), to_lines(&vectors)?))
    });
    let mut files: Vec<_> = vectors.collect::<Result<_>>()?;
    files.push(trace::upstream_verdicts()?);
    files.push(change::upstream_sample()?);
    files.push((fields::path(), fields::table()?));
    Ok(files)
}

fn update() -> Result<String> {
    let files = files()?;
    for (path, text) in &files {
        fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    Ok(format!("{} files written", files.len()))
}

fn verify() -> Result<String> {
    for entry in fs::read_dir(vector::directory())
        .context("vectors")?
        .flatten()
    {
        let name = entry.file_name();
        let is_known = vector::FILES.iter().any(|file| name == *file) || name == change::SAMPLE;
        ensure!(is_known, "{}: unknown vector file", name.display());
    }
    let files = files()?;
    for (path, text) in &files {
        let name = path.display();
        let is_same = fs::read_to_string(path)? == *text;
        ensure!(is_same, "{name} is out of date: run `make update-parity`");
    }
    Ok(format!("{} files verified", files.len()))
}

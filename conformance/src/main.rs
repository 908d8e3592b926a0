//! `update` writes the vectors anew from upstream's code; `verify` fails if that would change them; `live CASES SEED
//! [RELEASE...]` asks upstream's code and the library about generated cases; `unset CASES SEED` asks the library about them
//! without a release and with each.

use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use managed_by::Release;
use managed_by_conformance::generate::Generator;
use managed_by_conformance::unset::Counts;
use managed_by_conformance::world::{self, Seen, Tally, Upstream};
use managed_by_conformance::{Error, cases, live, oracle, trace, vector};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command")]
fn main() -> ExitCode {
    let command = env::args().nth(1).unwrap_or_default();
    let done = match command.as_str() {
        "update" => update(),
        "verify" => verify(),
        "live" => live(&env::args().skip(2).collect::<Vec<_>>()),
        "world" => world(&env::args().skip(2).collect::<Vec<_>>()),
        "unset" => unset(&env::args().skip(2).collect::<Vec<_>>()),
        _ => {
            eprintln!(
                "usage: managed-by-conformance update | verify | live CASES SEED [RELEASE...] | world SEED [RELEASE...] | unset CASES SEED"
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::print_stdout,
    reason = "a command that takes long tells how far it is"
)]
fn live(arguments: &[String]) -> Result<String, Error> {
    let number = |index: usize| arguments.get(index).and_then(|a| a.parse::<u64>().ok());
    let usage = || Error::Oracle("live CASES SEED [RELEASE...]".to_owned());
    let (cases, seed) = number(0).zip(number(1)).ok_or_else(usage)?;
    let mut mismatches = 0_u64;
    for release in releases(arguments.iter().skip(2)) {
        let start = Instant::now();
        let report = live::run(release, cases, seed)?;
        mismatches = mismatches.saturating_add(report.mismatches);
        println!(
            "{}: {} cases, {} denied, {} mismatches, {:.1} s",
            release.as_str(),
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
    if mismatches > 0 {
        return Err(Error::Oracle(format!("{mismatches} mismatches")));
    }
    Ok(format!("seed {seed}: no mismatch"))
}

/// Groups of Jobs of any values.
const JOINT: u64 = 20;

#[expect(
    clippy::print_stdout,
    reason = "a command that takes long tells how far it is"
)]
fn world(arguments: &[String]) -> Result<String, Error> {
    let seed = arguments
        .first()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    let releases = releases(arguments.iter().skip(1));
    let mut upstream = Upstream::start(&releases)?;
    let mut found = vec![Seen::default(); releases.len()];
    let mut mismatches = 0_u64;
    let mut print = |name: &str, start: Instant, tallies: Vec<Tally>| {
        for (release, tally) in releases.iter().zip(tallies) {
            mismatches = mismatches.saturating_add(tally.mismatches);
            let Tally {
                pairs,
                denied,
                mismatches,
                first,
            } = tally;
            let seconds = start.elapsed().as_secs();
            println!("{name} | {release} | {pairs} | {denied} | {mismatches} | {seconds} s");
            if let Some(first) = first {
                println!("{first}");
            }
        }
    };
    for part in &world::WORLDS {
        let start = Instant::now();
        print(
            part.name,
            start,
            world::exhaust(&mut upstream, part, &mut found)?,
        );
    }
    for (release, of_release) in releases.iter().zip(found) {
        for (rule, [fired, alone, lawful]) in of_release.alone.rules() {
            println!("{release} | {rule} | {fired} | {alone} | {lawful}");
        }
        for (trap, (jobs, specs)) in of_release.stuck.traps() {
            println!(
                "{release} | {jobs} Jobs {} | {:?} | {specs:?} | {:?}",
                trap.what, trap.conditions, trap.rules
            );
        }
    }
    let start = Instant::now();
    let (tallies, open) = world::joint(&mut upstream, JOINT, seed)?;
    print("joint", start, tallies);
    upstream.finish()?;
    if mismatches > 0 || !open.is_empty() {
        return Err(Error::Oracle(format!(
            "{mismatches} mismatches; decided by no part: {open:?}"
        )));
    }
    Ok(format!("seed {seed}: no mismatch"))
}

/// The releases that are named, or all.
fn releases<'a>(names: impl Iterator<Item = &'a String>) -> Vec<Release> {
    let chosen: Vec<_> = names.filter_map(|text| text.parse().ok()).collect();
    if chosen.is_empty() {
        Release::ALL.to_vec()
    } else {
        chosen
    }
}

fn unset(arguments: &[String]) -> Result<String, Error> {
    let number = |index: usize| arguments.get(index).and_then(|a| a.parse::<u64>().ok());
    let usage = || Error::Oracle("unset CASES SEED".to_owned());
    let (cases, seed) = number(0).zip(number(1)).ok_or_else(usage)?;
    let start = Instant::now();
    let mut generator = Generator::new(seed);
    let mut counts = Counts::default();
    for number in 0..cases {
        counts.add(&generator.case(number))?;
    }
    Ok(format!(
        "{counts:?}, {:.1} s",
        start.elapsed().as_secs_f64()
    ))
}

fn update() -> Result<String, Error> {
    let mut count = 0_usize;
    for file in vector::FILES {
        let cases = cases::of(file)?;
        count = count.saturating_add(cases.len());
        let text = vector::write(&oracle::vectors(cases)?)?;
        let path = vector::folder().join(file);
        fs::write(path, text).map_err(|e| Error::Io(file.to_owned(), e))?;
    }
    let traces = trace::ask()?;
    count = count.saturating_add(traces.len());
    trace::write(traces)?;
    Ok(format!("{count} vectors written"))
}

fn verify() -> Result<String, Error> {
    let mut count = 0_usize;
    let present = fs::read_dir(vector::folder()).map_err(|e| Error::Io("vectors".to_owned(), e))?;
    for entry in present.flatten() {
        let name = entry.file_name();
        if !vector::FILES.iter().any(|file| name == *file) {
            return Err(Error::Oracle(format!(
                "{} is made from nothing",
                name.display()
            )));
        }
    }
    for file in vector::FILES {
        let cases = cases::of(file)?;
        count = count.saturating_add(cases.len());
        if oracle::vectors(cases)? != vector::read(file)? {
            return Err(Error::Oracle(format!(
                "{file} would change: make conformance"
            )));
        }
    }
    let traces = trace::ask()?;
    count = count.saturating_add(traces.len());
    if traces != trace::vectors()? {
        return Err(Error::Oracle(
            "verdicts on traces would change: make conformance".to_owned(),
        ));
    }
    Ok(format!("{count} vectors verified"))
}

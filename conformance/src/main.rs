//! `update` writes the vectors anew from upstream's code; `verify` fails if that would change them.

use std::process::ExitCode;
use std::{env, fs};

use managed_by_conformance::{Error, cases, oracle, vector};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command")]
fn main() -> ExitCode {
    let command = env::args().nth(1).unwrap_or_default();
    let done = match command.as_str() {
        "update" => update(),
        "verify" => verify(),
        _ => {
            eprintln!("usage: managed-by-conformance update | verify");
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

fn update() -> Result<String, Error> {
    let mut count = 0_usize;
    for (file, cases) in cases::files() {
        count = count.saturating_add(cases.len());
        let text = vector::write(&oracle::vectors(cases)?)?;
        let path = vector::folder().join(file);
        fs::write(path, text).map_err(|e| Error::Io(file.to_owned(), e))?;
    }
    Ok(format!("{count} vectors written"))
}

fn verify() -> Result<String, Error> {
    let mut count = 0_usize;
    let files = cases::files();
    let present = fs::read_dir(vector::folder()).map_err(|e| Error::Io("vectors".to_owned(), e))?;
    for entry in present.flatten() {
        let name = entry.file_name();
        if !files.iter().any(|(file, _)| name == *file) {
            return Err(Error::Oracle(format!(
                "{} is made from nothing",
                name.display()
            )));
        }
    }
    for (file, cases) in files {
        count = count.saturating_add(cases.len());
        if oracle::vectors(cases)? != vector::read(file)? {
            return Err(Error::Oracle(format!(
                "{file} would change: make conformance"
            )));
        }
    }
    Ok(format!("{count} vectors verified"))
}

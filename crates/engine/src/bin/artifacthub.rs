//! Writes `artifacthub-pkg.yml`, where kwctl is not at hand: `artifacthub policy-metadata.yml questions-ui.yml TIME`

use std::error::Error;
use std::io::{self, Write as _};
use std::{env, fs};

use managed_by_engine::artifacthub::package;
use managed_by_engine::metadata::Metadata;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [metadata, questions, time] = arguments.as_slice() else {
        return Err("usage: artifacthub METADATA QUESTIONS TIME".into());
    };
    let metadata = Metadata::from_yaml(&fs::read_to_string(metadata)?)?;
    let text = package(&metadata, &fs::read_to_string(questions)?, time)?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

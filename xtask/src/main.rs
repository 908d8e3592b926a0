//! The commands behind the Makefile's targets.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Parser;
use managed_by_testing::Policy;
use xtask::answers;
use xtask::demo;
use xtask::generated;
use xtask::metadata::{self, Metadata};

#[derive(Parser)]
#[command(about)]
enum Command {
    /// Judge the requests of a folder with a built policy and show the answers
    Demo {
        /// The annotated module
        module: PathBuf,
        /// The folder with a folder of requests for each topic
        examples: PathBuf,
    },
    /// Add Kubewarden's metadata to a module, as `kwctl annotate` does
    Annotate {
        /// For example policy-metadata.yml
        metadata: PathBuf,
        /// What people read about the policy, for example README.md
        usage: PathBuf,
        /// The module as built
        module: PathBuf,
        /// The module to write
        output: PathBuf,
    },
    /// Write what the library answers to the examples, the vectors, the recordings and generated requests, a line each
    Answers {
        /// The file to write
        file: PathBuf,
        /// How many requests are generated
        generated: u64,
        /// The same seed generates the same requests
        seed: u64,
    },
    /// Write every file that is generated from the code
    Generate {
        /// Write nothing, and fail if a file would change
        #[arg(long)]
        check: bool,
    },
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Demo { module, examples } => {
            let policy = Policy::load(&read(&module)?)?;
            demo::run(&mut anstream::stdout().lock(), &policy, &examples)
        }
        Command::Annotate {
            metadata,
            usage,
            module,
            output,
        } => {
            let metadata = Metadata::from_yaml(&read_text(&metadata)?)?;
            let annotated = metadata::annotate(&read(&module)?, metadata, &read_text(&usage)?)?;
            fs::write(&output, annotated).with_context(|| output.display().to_string())
        }
        Command::Answers {
            file,
            generated,
            seed,
        } => {
            let out = File::create(&file).with_context(|| file.display().to_string())?;
            answers::write(&mut BufWriter::new(out), generated, seed)
        }
        Command::Generate { check: true } => generated::check(generated::all()?),
        Command::Generate { check: false } => generated::write(generated::all()?),
    }
}

fn read(path: &PathBuf) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

fn read_text(path: &PathBuf) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

//! Commands behind the Makefile: the demo, the annotation of modules, and the generators.

#![expect(
    clippy::indexing_slicing,
    reason = "the JSON comes from this repository, and a development tool may panic"
)]

mod artifacthub;
mod book;
mod chart;
mod chart_data;
mod chart_values;
mod conformance;
mod demo;
mod deploy;
mod expected;
mod generated;
mod generators;
mod kinds;
mod policy_metadata;
mod profiles;
mod rules;
mod settings;
mod status_guide;
mod version;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Parser;
use managed_by_testing::metadata::{self, Metadata};
use managed_by_testing::{Policy, chart as rendered, examples, readme};

#[derive(Parser)]
#[command(about)]
enum Command {
    /// Review the example requests with a built policy and show the responses
    Demo {
        /// Annotated module
        module: PathBuf,
    },
    /// Write the example requests for kwctl, with their settings
    Examples {
        /// Directory to write to
        directory: PathBuf,
    },
    /// Add Kubewarden's metadata to a module, like `kwctl annotate`
    Annotate {
        /// Metadata file, for example policy-metadata.yml
        metadata: PathBuf,
        /// Description of the policy, for example README.md
        usage: PathBuf,
        /// Built module
        module: PathBuf,
        /// File to write
        output: PathBuf,
    },
    /// Print a README with absolute links, as it is published
    Readme {
        /// Path in the repository, for example README.md
        path: String,
    },
    /// Write the library's responses to examples, vectors, recordings and generated requests, one per line
    Expected {
        /// File to write
        file: PathBuf,
        /// Number of generated requests
        generated: u64,
        /// Seed of the generator
        seed: u64,
    },
    /// Write all files that are generated from the code
    Generate,
    /// Build the site of the documentation, and check its links
    Book {
        /// Program `mdbook`
        mdbook: PathBuf,
        /// File with a line about the match conditions for each rule
        webhook_calls: PathBuf,
    },
    /// Render the manifests for a cluster with all projects, which parity/oracle reads
    Render {
        /// Directory to write
        directory: PathBuf,
    },
    /// Set the version of the project in all files that are not generated
    SetVersion {
        /// For example 0.2.0
        version: String,
    },
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Demo { module } => {
            let policy = Policy::load(&read(&module)?)?;
            demo::run(&mut anstream::stdout().lock(), &policy)
        }
        Command::Examples { directory } => examples::write(&directory),
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
        Command::Readme { path } => {
            let published = readme::with_absolute_links(&path)?;
            Ok(io::stdout().lock().write_all(published.as_bytes())?)
        }
        Command::Expected {
            file,
            generated,
            seed,
        } => {
            let out = File::create(&file).with_context(|| file.display().to_string())?;
            expected::write(&mut BufWriter::new(out), generated, seed)
        }
        Command::Generate => generators::write(),
        Command::Render { directory } => {
            fs::create_dir_all(&directory)?;
            for (name, ..) in rendered::ALL_PROJECTS {
                let text = rendered::for_all_projects(name)?.context("helm is not on the PATH")?;
                fs::write(directory.join(format!("{name}.yml")), text)?;
            }
            Ok(())
        }
        Command::Book {
            mdbook,
            webhook_calls,
        } => book::build(&mdbook, &read_text(&webhook_calls)?),
        Command::SetVersion { version } => {
            generated::write(version::set(&version)?)?;
            version::lock()
        }
    }
}

fn read(path: &PathBuf) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

fn read_text(path: &PathBuf) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

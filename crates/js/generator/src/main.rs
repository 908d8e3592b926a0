//! Makes the generated files of the npm package, and the answers that its tests hold it to.

mod answers;
mod package;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
#[command(about)]
enum Command {
    /// Write the glue of wasm-bindgen, the catalogue and the TypeScript types
    Package {
        /// The module as cargo built it
        module: PathBuf,
        /// The folder to write to
        folder: PathBuf,
    },
    /// Ask the policy about every example and every vector, in an engine, and write its answers a line each
    Answers {
        /// The annotated policy
        policy: PathBuf,
        /// The file to write
        file: PathBuf,
    },
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Package { module, folder } => package::write(&module, &folder),
        Command::Answers { policy, file } => answers::write(&policy, &file),
    }
}

//! Command that generates files of the npm package; `make npm` calls it.

mod package;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// Writes the module, its wasm-bindgen glue, the catalog and the TypeScript types
#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// The module as cargo built it
    module: PathBuf,
    /// The directory to write to
    directory: PathBuf,
}

fn main() -> Result<()> {
    let Arguments { module, directory } = Arguments::parse();
    package::write(&module, &directory)
}

//! The cases of each vector file: handwritten, generated, or read from the file itself.

mod status;

use anyhow::Result;

use crate::generate;
use crate::vector::{self, Case};

/// Returns the cases of a vector file.
pub fn read(file: &str) -> Result<Vec<Case>> {
    Ok(match file {
        "job-status.ndjson" => status::cases(),
        "job-status-generated.ndjson" => generate::sample(),
        "job-spec-generated.ndjson" => generate::template_sample(),
        // The other files contain their own cases. A line without results is a new case.
        _ => {
            let vectors = vector::read(file)?.into_iter();
            vectors.map(|vector| vector.case).collect()
        }
    })
}

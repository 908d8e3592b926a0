//! The generators that `make generate` runs.

use std::io::{self, Write as _};

use anyhow::Result;

use crate::generated::Generated;
use crate::{artifacthub, chart, chart_data, deploy, kinds, rules, settings, status_guide};

/// Generates all files. New generators are added here.
///
/// # Errors
/// If a partly generated file cannot be read or lacks its marks.
pub fn all() -> Result<Vec<Generated>> {
    let generators = [
        rules::generated()?,
        kinds::generated()?,
        settings::generated()?,
        chart::generated()?,
        chart_data::generated()?,
        artifacthub::generated()?,
        status_guide::generated()?,
    ];
    let mut files = generators.concat();
    match deploy::generated()? {
        Some(rendered) => files.extend(rendered),
        None => writeln!(
            io::stderr(),
            "skipped: the manifests in deploy/ and charts/managed-by-policy/tests/rendered/, because helm is not on the PATH"
        )?,
    }
    Ok(files)
}

//! The generators that `make generate` runs.

use std::io::{self, Write as _};

use anyhow::Result;

use crate::generated::{self, Generated};
use crate::{
    artifacthub, chart, chart_data, chart_values, deploy, kinds, policy_metadata, rules, settings,
    status_guide,
};

/// Generates all files.
///
/// # Errors
/// If a partly generated file cannot be read or lacks its marks.
pub fn all() -> Result<Vec<Generated>> {
    let mut files = from_code()?;
    files.extend(from_chart()?);
    Ok(files)
}

/// Generates and writes all files. The manifests are rendered last, because Helm reads other generated files of the chart.
///
/// # Errors
/// If a partly generated file cannot be read or lacks its marks, or a file cannot be written.
pub fn write() -> Result<()> {
    generated::write(from_code()?)?;
    generated::write(from_chart()?)
}

/// Generates the files that need no Helm. New generators are added here.
fn from_code() -> Result<Vec<Generated>> {
    let generators = [
        rules::generated()?,
        kinds::generated()?,
        settings::generated()?,
        chart::generated()?,
        chart_data::generated()?,
        chart_values::generated()?,
        policy_metadata::generated()?,
        artifacthub::generated()?,
        status_guide::generated()?,
    ];
    Ok(generators.concat())
}

/// Renders the manifests from the chart on disk, if Helm is installed.
fn from_chart() -> Result<Vec<Generated>> {
    let rendered = deploy::generated()?;
    if rendered.is_none() {
        writeln!(
            io::stderr(),
            "skipped: the manifests in deploy/ and charts/managed-by-policy/tests/rendered/, because helm is not on the PATH"
        )?;
    }
    Ok(rendered.unwrap_or_default())
}

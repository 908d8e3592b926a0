//! Known differences between the library and upstream, from `known-differences.txt`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// An intended difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Prefix of the names of affected cases.
    pub prefix: String,
    /// Reason for the difference.
    pub reason: String,
}

/// Reads `known-differences.txt`: one `prefix -> reason` per line, `#` for comments.
pub fn read() -> Result<Vec<Difference>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("known-differences.txt");
    let text = fs::read_to_string(path).context("known differences")?;
    let lines = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let parse = |line: &str| {
        let pair = line.split_once(" -> ");
        let (prefix, reason) = pair.with_context(|| format!("no `->`: {line}"))?;
        Ok(Difference {
            prefix: prefix.to_owned(),
            reason: reason.to_owned(),
        })
    };
    lines.map(parse).collect()
}

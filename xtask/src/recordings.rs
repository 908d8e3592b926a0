//! How long each recording is, in the table of `docs/testing.md`.

use std::fmt::Write as _;

use anyhow::Result;

use crate::generated::{Generated, read};
use crate::root;

/// The page with today's lengths. Which recordings there are, and of what versions, is written by hand, because only who records knows.
///
/// # Errors
/// If the page or a recording cannot be read.
pub fn generated() -> Result<Vec<Generated>> {
    let page = "docs/testing.md";
    let mut text = String::new();
    for line in read(page)?.lines() {
        let cell = line.strip_prefix("| `").and_then(|row| row.split_once('`'));
        let file = cell.map(|(name, _)| format!("conformance/traces/{name}.ndjson"));
        let before = line.trim_end_matches(" |").rsplit_once(" | ");
        match (file.filter(|file| root(file).is_file()), before) {
            (Some(file), Some((row, _))) => {
                writeln!(text, "{row} | {} |", read(&file)?.lines().count())?;
            }
            _ => writeln!(text, "{line}")?,
        }
    }
    Ok(vec![Generated::new(page, text)])
}

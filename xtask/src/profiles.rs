//! Generates the tables of the profiles in `docs/reference/conformance.md`.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use managed_by::rule;
use managed_by_offline::profile::PROFILES;

pub(crate) fn sections() -> Result<String> {
    let mut text = String::new();
    for profile in PROFILES {
        writeln!(text, "\n### {}\n\n{}.\n", profile.name, profile.title)?;
        writeln!(text, "| transition | change |\n| --- | --- |")?;
        for transition in profile.transitions {
            let after = transition.after.map_or_else(String::new, |earlier| {
                format!(", after `{earlier}` of the same Job")
            });
            writeln!(
                text,
                "| `{}` | {}{after} |",
                transition.id, transition.title
            )?;
        }
        if profile.rules.is_empty() {
            continue;
        }
        text.push_str("\nRules: ");
        for (index, id) in profile.rules.iter().enumerate() {
            let page = rule(id).context(*id)?.page_path();
            let separator = if index == 0 { "" } else { ", " };
            write!(text, "{separator}[`{id}`](../../{page})")?;
        }
        text.push('\n');
    }
    text.push('\n');
    Ok(text)
}

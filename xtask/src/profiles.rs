//! Generates the table of the profiles in `docs/reference/conformance.md`.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use managed_by::rule;
use managed_by_offline::profile::PROFILES;

pub(crate) fn table() -> Result<String> {
    let mut text = "| profile | transition | change |\n| --- | --- | --- |\n".to_owned();
    for profile in PROFILES {
        writeln!(text, "| **{}** | | {} |", profile.name, profile.title)?;
        for transition in profile.transitions {
            let after = transition.after.map_or_else(String::new, |earlier| {
                format!(", after `{earlier}` of the same Job")
            });
            writeln!(
                text,
                "| | `{}` | {}{after} |",
                transition.id, transition.title
            )?;
        }
        let mut rules = Vec::new();
        for id in profile.rules {
            let page = rule(id).context(*id)?.page_path();
            rules.push(format!("[`{id}`](../../{page})"));
        }
        if !rules.is_empty() {
            writeln!(text, "| | rules | {} |", rules.join(", "))?;
        }
    }
    Ok(text)
}

//! Generates the parts of `policy-metadata.yml` that list kinds: the rules, and the resources for Artifact Hub.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use managed_by::{Kind, kinds};
use serde_json::{json, to_string};

use managed_by_testing::read;

use crate::generated::Generated;

/// Path of the file.
pub(crate) const METADATA: &str = "policy-metadata.yml";

const RULES: &str = "\nrules:\n";
const AFTER_RULES: &str = "mutating: ";
const RESOURCES: &str = "  io.artifacthub.resources: ";

pub(crate) fn generated() -> Result<Vec<Generated>> {
    Ok(vec![Generated::new(METADATA, text()?)])
}

pub(crate) fn text() -> Result<String> {
    let file = read(METADATA)?;
    let (head, rest) = file.split_once(RULES).context("no rules")?;
    let (_, rest) = rest.split_once(AFTER_RULES).context(AFTER_RULES)?;
    let (middle, rest) = rest.split_once(RESOURCES).context(RESOURCES)?;
    let (_, tail) = rest.split_once('\n').context(RESOURCES)?;
    let mut names: Vec<_> = kinds().iter().map(|kind| kind.name()).collect();
    names.dedup();
    let (rules, names) = (rules()?, names.join(", "));
    Ok(format!(
        "{head}{RULES}{rules}{AFTER_RULES}{middle}{RESOURCES}{names}\n{tail}"
    ))
}

/// Group of the kinds in the rules: the only one that every cluster serves. The audit scanner skips a policy whose rules name a kind that
/// the cluster does not serve.
const GROUP: &str = "batch";

/// Writes two rules for consecutive kinds of the same group and versions: one for the resources, and one for their status.
fn rules() -> Result<String> {
    let mut text = String::new();
    let is_same =
        |a: &&Kind<'_>, b: &&Kind<'_>| (a.group(), a.versions()) == (b.group(), b.versions());
    for kinds in kinds().chunk_by(is_same) {
        let kind = kinds.first().context("an empty chunk")?;
        if kind.group() != GROUP {
            continue;
        }
        let resources: Vec<_> = kinds.iter().map(|kind| kind.plural().to_owned()).collect();
        let with_status = kinds.iter().filter(|kind| kind.has_status_rules());
        let status: Vec<_> = with_status
            .map(|k| format!("{}/status", k.plural()))
            .collect();
        for (resources, operations) in [
            (resources, json!(["CREATE", "UPDATE"])),
            (status, json!(["UPDATE"])),
        ] {
            if !resources.is_empty() {
                writeln!(
                    text,
                    "  - apiGroups: {}\n    apiVersions: {}\n    resources: {}\n    operations: {}",
                    flow(&json!([kind.group()]))?,
                    flow(&json!(kind.versions()))?,
                    flow(&json!(resources))?,
                    flow(&operations)?,
                )?;
            }
        }
    }
    Ok(text)
}

/// Formats a list on one line, with a space after each comma.
fn flow(list: &serde_json::Value) -> Result<String> {
    Ok(to_string(list)?.replace(',', ", "))
}

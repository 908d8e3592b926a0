//! Generates the parts of `artifacthub-pkg.yml` that repeat the policy's metadata. The rest is written by hand.
//!
//! `make e2e` compares the file with the output of `kwctl scaffold artifacthub`, except for the installation instructions, which
//! refer to a manifest in `deploy/`. A release adds `createdAt` (`make artifacthub`).

use anyhow::{Context as _, Result};
use managed_by_testing::metadata::Metadata;
use managed_by_testing::{PUBLISHED, read};
use serde_yaml_ng::{Value, from_str, to_string};

use crate::generated::Generated;
use crate::policy_metadata::{self, METADATA};

/// Keys of a package, each with the metadata annotation that contains its text.
const TEXTS: [(&str, &str); 6] = [
    ("version", "io.kubewarden.policy.version"),
    ("name", "io.kubewarden.policy.title"),
    ("displayName", "io.artifacthub.displayName"),
    ("description", "io.kubewarden.policy.description"),
    ("license", "io.kubewarden.policy.license"),
    ("homeURL", "io.kubewarden.policy.url"),
];

pub(crate) fn generated() -> Result<Vec<Generated>> {
    let package = |[metadata, questions, package]: &[&str; 3]| {
        // `policy-metadata.yml` is partly generated too.
        let metadata = match *metadata {
            METADATA => policy_metadata::text()?,
            other => read(other)?,
        };
        let metadata = Metadata::from_yaml(&metadata)?;
        let text = update(&read(package)?, &metadata, read(questions)?)?;
        Ok(Generated::new(*package, text))
    };
    PUBLISHED.iter().map(package).collect()
}

fn update(package: &str, metadata: &Metadata, questions: String) -> Result<String> {
    let mut package: Value = from_str(package)?;
    let before = package["version"].as_str().context("no version")?;
    let before = format!("v{before}");
    let annotation = |key: &str| {
        let value = metadata.annotations.get(key);
        value.with_context(|| format!("metadata: no annotation {key}"))
    };
    for (key, name) in TEXTS {
        package[key] = annotation(name)?.as_str().into();
    }
    let keywords = annotation("io.artifacthub.keywords")?.split(',');
    package["keywords"] = keywords.map(str::trim).collect();
    let annotations = &mut package["annotations"];
    annotations["kubewarden/rules"] = to_string(&metadata.rules)?.into();
    annotations["kubewarden/questions-ui"] = questions.into();
    let resources = &metadata.context_aware_resources;
    if !resources.is_empty() {
        annotations["kubewarden/contextAwareResources"] = to_string(resources)?.into();
    }
    // Links, the image and the commands contain the version.
    let version = annotation("io.kubewarden.policy.version")?;
    Ok(to_string(&package)?.replace(&before, &format!("v{version}")))
}

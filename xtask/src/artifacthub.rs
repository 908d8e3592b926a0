//! What Artifact Hub wants to know of a policy, made of its metadata as `kwctl scaffold artifacthub` makes it.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::metadata::Metadata;

/// `artifacthub-pkg.yml`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Package<'a> {
    version: &'a str,
    name: &'a str,
    display_name: &'a str,
    created_at: &'a str,
    description: &'a str,
    license: &'a str,
    #[serde(rename = "homeURL")]
    home_url: &'a str,
    containers_images: [ContainerImage<'a>; 1],
    keywords: Vec<&'a str>,
    links: [Link<'a>; 2],
    install: String,
    maintainers: Vec<Maintainer<'a>>,
    provider: Provider,
    recommendations: [Recommendation; 1],
    annotations: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
struct ContainerImage<'a> {
    name: &'static str,
    image: &'a str,
}

#[derive(Serialize)]
struct Link<'a> {
    name: &'static str,
    url: &'a str,
}

#[derive(Serialize)]
struct Maintainer<'a> {
    name: &'a str,
    email: &'a str,
}

#[derive(Serialize)]
struct Provider {
    name: &'static str,
}

#[derive(Serialize)]
struct Recommendation {
    url: &'static str,
}

/// The text of the file. `questions` is the text of `questions-ui.yml`, `created_at` an RFC 3339 time.
///
/// # Errors
/// If the metadata lacks an annotation that Artifact Hub shows, or has an author without an address.
pub fn package(metadata: &Metadata, questions: &str, created_at: &str) -> Result<String> {
    let annotation = |key: &str| {
        let value = metadata.annotations.get(key).map(String::as_str);
        value.with_context(|| format!("metadata: no annotation {key}"))
    };
    let version = annotation("io.kubewarden.policy.version")?;
    let image = format!("{}:v{version}", annotation("io.kubewarden.policy.ociUrl")?);
    let source = annotation("io.kubewarden.policy.source")?;
    let module = format!("{source}/releases/download/v{version}/policy.wasm");
    let list = |text: &'static str| annotation(text).map(|s| s.split(',').map(str::trim));
    let mut annotations = BTreeMap::from([
        ("kubewarden/mutation", metadata.mutating.to_string()),
        ("kubewarden/rules", yaml(&metadata.rules)?),
        ("kubewarden/questions-ui", questions.to_owned()),
        (
            "kubewarden/resources",
            annotation("io.artifacthub.resources")?.to_owned(),
        ),
    ]);
    if !metadata.context_aware_resources.is_empty() {
        let resources = yaml(&metadata.context_aware_resources)?;
        annotations.insert("kubewarden/contextAwareResources", resources);
    }
    let package = Package {
        version,
        name: annotation("io.kubewarden.policy.title")?,
        display_name: annotation("io.artifacthub.displayName")?,
        created_at,
        description: annotation("io.kubewarden.policy.description")?,
        license: annotation("io.kubewarden.policy.license")?,
        home_url: annotation("io.kubewarden.policy.url")?,
        containers_images: [ContainerImage {
            name: "policy",
            image: &image,
        }],
        keywords: list("io.artifacthub.keywords")?.collect(),
        links: [
            Link {
                name: "policy",
                url: &module,
            },
            Link {
                name: "source",
                url: source,
            },
        ],
        install: install(&image),
        maintainers: list("io.kubewarden.policy.author")?
            .map(maintainer)
            .collect::<Result<_, _>>()?,
        provider: Provider { name: "kubewarden" },
        recommendations: [Recommendation {
            url: "https://artifacthub.io/packages/helm/kubewarden/kubewarden-controller",
        }],
        annotations,
    };
    yaml(&package)
}

/// `Name <address>`
fn maintainer(author: &str) -> Result<Maintainer<'_>> {
    let parts = author.strip_suffix('>').and_then(|a| a.split_once('<'));
    let (name, email) = parts.with_context(|| format!("metadata: no address in {author}"))?;
    Ok(Maintainer {
        name: name.trim(),
        email,
    })
}

fn install(image: &str) -> String {
    format!(
        "The policy can be obtained using [`kwctl`](https://github.com/kubewarden/kwctl):\n\
         ```console\nkwctl pull {image}\n```\n\
         Then, generate the policy manifest and tune it to your liking. For example:\n\
         ```console\nkwctl scaffold manifest -t ClusterAdmissionPolicy registry://{image}\n```\n"
    )
}

fn yaml(value: &impl Serialize) -> Result<String> {
    Ok(serde_yaml_ng::to_string(value)?)
}

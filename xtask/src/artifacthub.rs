//! What Artifact Hub wants to know of a policy, made of its metadata as `kwctl scaffold artifacthub` makes it, but for how to
//! install it: a manifest of `deploy/` is a better start than the one that kwctl scaffolds. `createdAt` is missing, because a
//! release adds it (`make artifacthub`).

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::generated::{Generated, read};
use crate::metadata::Metadata;

/// A policy that is published, by its files.
struct Published {
    metadata: &'static str,
    questions: &'static str,
    /// Its file in a release.
    module: &'static str,
    package: &'static str,
    /// What to do once it is pulled.
    then: &'static str,
}

const PUBLISHED: [Published; 2] = [
    Published {
        metadata: "policy-metadata.yml",
        questions: "questions-ui.yml",
        module: "policy.wasm",
        package: "artifacthub-pkg.yml",
        then: "Then choose the manifest for your cluster: `management.yml`, `worker.yml` or `hybrid.yml`. Each starts in mode \
            `monitor`, with the kinds that every cluster serves. Take in the other projects that your cluster runs. Do not start \
            with the output of `kwctl scaffold manifest`. It has no mode, so that it denies at once. It lists every kind, and the \
            audit scanner skips a policy with a kind that the cluster does not serve. It has no `matchConditions`, so that every \
            update waits for PolicyServer.",
    },
    Published {
        metadata: "pods-metadata.yml",
        questions: "pods/questions-ui.yml",
        module: "pods-policy.wasm",
        package: "pods/artifacthub-pkg.yml",
        then: "Then apply the manifest `pods.yml`. Do not start with the output of `kwctl scaffold manifest`. It has no mode, so that \
            it denies at once. It fails closed, so that an outage of PolicyServer stops all pods. It asks for every pod, not only for \
            those of Jobs. It has no role that lets PolicyServer read Jobs.",
    },
];

/// `artifacthub-pkg.yml` of each policy.
///
/// # Errors
/// As [`package`], and if a file cannot be read.
pub fn generated() -> Result<Vec<Generated>> {
    let package = |published: &Published| {
        let metadata = Metadata::from_yaml(&read(published.metadata)?)?;
        let text = package(&metadata, &read(published.questions)?, published)?;
        Ok(Generated::new(published.package, text))
    };
    PUBLISHED.iter().map(package).collect()
}

/// `artifacthub-pkg.yml`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Package<'a> {
    version: &'a str,
    name: &'a str,
    display_name: &'a str,
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

/// The text of the file. `questions` is the text of `questions-ui.yml`.
///
/// # Errors
/// If the metadata lacks an annotation that Artifact Hub shows, or has an author without an address.
fn package(metadata: &Metadata, questions: &str, published: &Published) -> Result<String> {
    let annotation = |key: &str| {
        let value = metadata.annotations.get(key).map(String::as_str);
        value.with_context(|| format!("metadata: no annotation {key}"))
    };
    let version = annotation("io.kubewarden.policy.version")?;
    let image = format!("{}:v{version}", annotation("io.kubewarden.policy.ociUrl")?);
    let source = annotation("io.kubewarden.policy.source")?;
    let tag = annotation("com.github.release.tag")?;
    let module = format!("{source}/releases/download/{tag}/{}", published.module);
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
        install: install(
            &image,
            &format!("{source}/tree/{tag}/deploy"),
            published.then,
        ),
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

fn install(image: &str, manifests: &str, then: &str) -> String {
    format!(
        "The policy can be obtained using [kwctl](https://docs.kubewarden.io/howtos/install-kwctl):\n\
         ```console\nkwctl pull {image}\n```\n\
         {then}\n\nThe manifests are in [deploy/]({manifests}).\n"
    )
}

fn yaml(value: &impl Serialize) -> Result<String> {
    Ok(serde_yaml_ng::to_string(value)?)
}

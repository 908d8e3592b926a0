//! The project's manifests, and what is made of them for servers on loopback.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
pub(crate) use managed_by_testing::root;
use serde_json::{Value, json};

use crate::policy_server::PolicyServer;
use crate::tls::Authority;

/// The manifests of policies that judge workloads.
pub(crate) const POLICIES: [&str; 4] = ["management", "worker", "hybrid", "namespace"];

/// The module, with its metadata.
pub(crate) const MODULE: &str = "annotated-policy.wasm";

/// The same for pods.
pub(crate) const PODS_MODULE: &str = "annotated-pods-policy.wasm";

/// The text of a file of the repository, or of any whose path begins at `/`.
pub(crate) fn text(file: impl AsRef<Path>) -> Result<String> {
    fs::read_to_string(root(&file)).with_context(|| file.as_ref().display().to_string())
}

/// The documents in such a YAML file.
pub(crate) fn yaml(file: impl AsRef<Path>) -> Result<Vec<Value>> {
    documents(&text(&file)?).with_context(|| file.as_ref().display().to_string())
}

/// The documents in a text.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>> {
    let mut documents = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let mut document = <serde_yaml_ng::Value as serde::Deserialize>::deserialize(document)?;
        document.apply_merge()?;
        let document: Value = serde_yaml_ng::from_value(document)?;
        if !document.is_null() {
            documents.push(document);
        }
    }
    Ok(documents)
}

/// `deploy/NAME.yml` as an admin makes it for a cluster with some more projects, such as `jobset`: the manifest holds their
/// kinds and their writers in comments that begin with `#jobset `, which are lines then, and a namespace may be left to fill in.
fn manifest(name: &str, projects: &[&str]) -> Result<Vec<Value>> {
    let mut manifest = text(format!("deploy/{name}.yml"))?;
    for project in projects {
        manifest = manifest.replace(&format!("#{project} "), "");
    }
    manifest = manifest.replace(":NAMESPACE:", ":ray-system:");
    documents(&manifest).with_context(|| format!("deploy/{name}.yml with {projects:?}"))
}

/// The specification of the policy in `deploy/NAME.yml`, with some more projects.
pub(crate) fn spec(name: &str, projects: &[&str]) -> Result<Value> {
    let mut documents = manifest(name, projects)?;
    let policy = documents.first_mut().context("no policy")?;
    Ok(policy["spec"].take())
}

/// What PolicyServer calls a module on disk.
pub(crate) fn module(file: &str) -> Result<String> {
    let path = root(file);
    let path = path.canonicalize().with_context(|| format!("no {file}"))?;
    Ok(format!("file://{}", path.display()))
}

/// `deploy/NAME.yml` as an entry of `policies.yml`: what Kubewarden's controller makes of it.
pub(crate) fn policy(name: &str) -> Result<Value> {
    let spec = spec(name, &[])?;
    let mut entry = json!({
        "module": module(MODULE)?,
        "policyMode": spec["mode"],
        "allowedToMutate": spec["mutating"],
        "settings": spec["settings"],
    });
    if !spec["contextAwareResources"].is_null() {
        entry["module"] = module(PODS_MODULE)?.into();
        entry["contextAwareResources"] = spec["contextAwareResources"].clone();
        // Kubewarden's controller grants all of them; a PolicyServer alone grants what its file says.
        entry["hostCapabilities"] = yaml("pods/metadata.yml")?[0]["hostCapabilities"].clone();
    }
    Ok(entry)
}

/// The settings of `deploy/NAME.yml` with some more projects, for an API server of a release, as its comment asks for.
pub(crate) fn settings(name: &str, release: &str, projects: &[&str]) -> Result<Value> {
    let mut settings = spec(name, projects)?["settings"].take();
    settings["kubernetes_version"] = release.into();
    Ok(settings)
}

/// A policy in `policies.yml` that denies.
pub(crate) fn protect(settings: &Value) -> Result<Value> {
    let mode = "protect";
    Ok(json!({"module": module(MODULE)?, "policyMode": mode, "settings": settings}))
}

/// `deploy/webhook.yml` with some more projects, as it is but for the address and the authority.
pub(crate) fn webhook(server: &PolicyServer, projects: &[&str]) -> Result<Value> {
    let mut configuration = manifest("webhook", projects)?[0].take();
    answer_at(&server.url(""), &server.authority, &mut configuration)?;
    Ok(configuration)
}

/// Gives the webhooks of a configuration an address in place of their Services.
pub(crate) fn answer_at(url: &str, authority: &Authority, configuration: &mut Value) -> Result<()> {
    let webhooks = configuration["webhooks"].as_array_mut();
    for webhook in webhooks.context("no webhooks")? {
        let path = webhook["clientConfig"]["service"]["path"].as_str();
        let url = format!("{url}{}", path.context("no path")?);
        let bundle = base64(authority.pem().as_bytes());
        webhook["clientConfig"] = json!({"url": url, "caBundle": bundle});
    }
    Ok(())
}

/// What Kubewarden's controller makes of `deploy/pods.yml` in the API server, for the policy `pods` at an address.
pub(crate) fn pods_webhook(server: &PolicyServer) -> Result<Value> {
    let spec = spec("pods", &[])?;
    let mut configuration = webhook(server, &[])?;
    configuration["metadata"]["name"] = "managed-by-pods".into();
    let webhook = &mut configuration["webhooks"][0];
    webhook["name"] = "managed-by-pods.policies.example.com".into();
    webhook["clientConfig"]["url"] = server.url("/validate/pods").into();
    for key in [
        "rules",
        "matchConditions",
        "namespaceSelector",
        "matchPolicy",
        "failurePolicy",
        "timeoutSeconds",
    ] {
        webhook[key] = spec[key].clone();
    }
    Ok(configuration)
}

/// As Kubernetes writes bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

//! Reader for `examples/`: one directory per topic, one request per file `NAME.yaml`.
//!
//! The first document of a file is its [`Header`]. The second one is the object of a create, or the stored object of an update. The third
//! one is the JSON merge patch that turns the stored object into the updated one, as in `kubectl patch --type merge`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::library::ValidationResponse;
use crate::{root, yaml_documents};

/// Directories of examples, in the order in which people read them.
const TOPICS: [&str; 5] = ["field", "status", "cluster-specific", "kinds", "custom"];

/// One example request with its settings and expected response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleRequest {
    /// Directory and file name without extension: `field/01-created`.
    pub name: String,
    /// Request in the form in which PolicyServer passes it on.
    pub request: Value,
    /// Settings of the policy; `{}` if the header has none.
    pub settings: Value,
    /// Name of settings that several examples share: a file in `examples/settings/`, without extension.
    pub settings_name: Option<String>,
    /// Expected response, which `UPDATE_EXPECT=1` adds to a new example.
    pub response: Option<ValidationResponse>,
}

impl ExampleRequest {
    /// Returns the name without directory and number, with spaces.
    pub fn title(&self) -> String {
        let file = self.name.rsplit('/').next().unwrap_or_default();
        let title = file.split_once('-').map_or(file, |(_, title)| title);
        title.replace('-', " ")
    }

    /// Returns the directory name.
    pub fn topic(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Returns the `AdmissionReview` with the request, and with the response as `kwctl run` prints it.
    pub fn review(&self) -> Value {
        let mut request = self.request.clone();
        if let Some(members) = request.as_object_mut() {
            members.entry("oldObject").or_insert_with(|| json!(null));
        }
        let uid = request.get("uid").cloned().unwrap_or_default();
        let response = self
            .response
            .as_ref()
            .map(|response| response.response(&uid));
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": request,
            "response": response,
        })
    }
}

/// First document of an example: everything in a request and its response that does not follow from the objects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    operation: String,
    subresource: Option<String>,
    user: String,
    /// The groups that kube-apiserver adds to the user, if absent.
    groups: Option<Vec<String>>,
    /// Settings, or the name of a file in `examples/settings/`.
    settings: Option<Value>,
    response: Option<ValidationResponse>,
}

/// Reads the examples of this repository.
pub fn all() -> Result<Vec<ExampleRequest>> {
    let mut examples = Vec::new();
    for (index, topic) in TOPICS.iter().enumerate() {
        let directory = root("examples").join(topic);
        let entries = fs::read_dir(&directory).with_context(|| directory.display().to_string())?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let example = read(&path, topic, index);
            examples.push(example.with_context(|| path.display().to_string())?);
        }
    }
    Ok(examples)
}

/// Writes each `AdmissionReview` to `TOPIC/NAME.json`, and its settings, if any, to `TOPIC/NAME.settings.yml`.
pub fn write(directory: &Path) -> Result<()> {
    for example in all()? {
        fs::create_dir_all(directory.join(example.topic()))?;
        let file = |ending: &str| directory.join(format!("{}.{ending}", example.name));
        fs::write(file("json"), format!("{:#}\n", example.review()))?;
        if let Some(name) = &example.settings_name {
            fs::copy(settings_file(name), file("settings.yml"))?;
        } else if example.settings != json!({}) {
            fs::write(
                file("settings.yml"),
                serde_yaml_ng::to_string(&example.settings)?,
            )?;
        }
    }
    Ok(())
}

fn settings_file(name: &str) -> PathBuf {
    root(format!("examples/settings/{name}.yml"))
}

fn read(path: &Path, topic: &str, topic_index: usize) -> Result<ExampleRequest> {
    let text = fs::read_to_string(path)?;
    let documents = yaml_documents(&text)?;
    let Some((header, objects)) = documents.split_first() else {
        bail!("no header");
    };
    let header = Header::deserialize(header)?;
    let file = path.file_stem().unwrap_or_default().to_string_lossy();
    let number = file.split('-').next().unwrap_or_default();
    let uid = format!("705ab4f5-6393-11e8-b7cc-42010a80{topic_index:02}{number}");
    let mut request = request(&header, &uid, objects)?;
    // PolicyServer passes no nulls on.
    if let Some(members) = request.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    let (settings, settings_name) = match header.settings {
        Some(Value::String(name)) => {
            let text = fs::read_to_string(settings_file(&name)).context(name.clone())?;
            (serde_yaml_ng::from_str(&text)?, Some(name))
        }
        settings => (settings.unwrap_or_else(|| json!({})), None),
    };
    Ok(ExampleRequest {
        name: format!("{topic}/{file}"),
        request,
        settings,
        settings_name,
        response: header.response,
    })
}

/// Returns the `AdmissionRequest` that kube-apiserver would send. Optional members may be null.
fn request(header: &Header, uid: &str, objects: &[Value]) -> Result<Value> {
    let (old, object, options) = match (&*header.operation, objects) {
        ("CREATE", [object]) => (Value::Null, object.clone(), "CreateOptions"),
        ("UPDATE", [old, changes]) => (old.clone(), merge_patch(old, changes), "UpdateOptions"),
        (operation, _) => bail!("{operation} with {} objects", objects.len()),
    };
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let api_version = text("/apiVersion").context("no apiVersion")?;
    let kind = text("/kind").context("no kind")?;
    let (group, version) = api_version.split_once('/').context("no group")?;
    // The plural of every kind in the examples.
    let resource = format!("{}s", kind.to_lowercase());
    let kind = json!({"group": group, "version": version, "kind": kind});
    let resource = json!({"group": group, "version": version, "resource": resource});
    Ok(json!({
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "subResource": header.subresource,
        "requestKind": kind,
        "requestResource": resource,
        "requestSubResource": header.subresource,
        "name": text("/metadata/name"),
        "namespace": text("/metadata/namespace"),
        "operation": header.operation,
        "userInfo": {"username": header.user, "groups": groups(header)},
        "object": object,
        "oldObject": old,
        "dryRun": false,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": options},
    }))
}

/// Returns the user's groups: those of the header, or those that kube-apiserver adds to every user or service account.
fn groups(header: &Header) -> Vec<String> {
    if let Some(groups) = &header.groups {
        return groups.clone();
    }
    let mut groups = Vec::new();
    if let Some(account) = header.user.strip_prefix("system:serviceaccount:") {
        let (namespace, _) = account.split_once(':').unwrap_or((account, ""));
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups.push("system:authenticated".to_owned());
    groups
}

/// Applies a JSON merge patch (RFC 7396).
pub fn merge_patch(value: &Value, changes: &Value) -> Value {
    let mut merged = value.clone();
    json_patch::merge(&mut merged, changes);
    merged
}

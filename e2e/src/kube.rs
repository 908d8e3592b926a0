//! A client of kube-apiserver.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;

use crate::http::{self, Answer};

/// The media types of what is written.
pub(crate) const JSON: &str = "application/json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Somebody who asks kube-apiserver.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) agent: Agent,
    pub(crate) url: String,
    /// The token, which is the user's name.
    pub(crate) token: String,
    /// Headers of each request beside the usual ones.
    pub(crate) headers: BTreeMap<String, String>,
}

impl Client {
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        object: &Value,
    ) -> Result<Answer> {
        let body = if object.is_null() {
            String::new()
        } else {
            object.to_string()
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", media_type);
        for (key, value) in &self.headers {
            request = request.header(key, value);
        }
        http::send(&self.agent, request.body(body.into())?)
    }

    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        self.request("GET", path, JSON, &Value::Null)
    }

    pub(crate) fn post(&self, path: &str, object: &Value) -> Result<Answer> {
        self.request("POST", path, JSON, object)
    }

    /// A merge patch.
    pub(crate) fn patch(&self, path: &str, change: &Value) -> Result<Answer> {
        self.request("PATCH", path, MERGE_PATCH, change)
    }

    /// A server-side apply of an object, which must succeed.
    pub(crate) fn apply(&self, object: &Value) -> Result<Value> {
        let path = format!("{}?fieldManager=e2e&force=true", place(object));
        done(self.request("PATCH", &path, APPLY, object)?)
    }

    /// Deletes without waiting for anybody.
    pub(crate) fn delete(&self, path: &str) -> Result<Answer> {
        self.request("DELETE", path, JSON, &json!({"gracePeriodSeconds": 0}))
    }

    /// Creates an object, which must succeed.
    pub(crate) fn create(&self, path: &str, object: &Value) -> Result<Value> {
        done(self.post(path, object)?)
    }

    /// The items of a list.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Value>> {
        let mut list = done(self.get(path)?)?;
        // An empty list may be null.
        Ok(serde_json::from_value(list["items"].take()).unwrap_or_default())
    }
}

/// The body of an answer that is no error.
pub(crate) fn done(answer: Answer) -> Result<Value> {
    let (code, body) = (answer.code, answer.body);
    ensure!(code < 300, "{code} {}", body["message"]);
    Ok(body)
}

/// Where an object is: `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME`, or without the namespace.
pub(crate) fn place(object: &Value) -> String {
    format!("{}/{}", siblings(object), text(&object["metadata"]["name"]))
}

/// Where the objects of its kind are.
pub(crate) fn siblings(object: &Value) -> String {
    let namespace = text(&object["metadata"]["namespace"]);
    let plural = plural(text(&object["kind"]));
    path(text(&object["apiVersion"]), namespace, &plural)
}

/// A text, which is empty where there is none.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A list, which is empty where there is none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What a path calls the objects of a kind.
pub(crate) fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match (kind.strip_suffix('y'), kind.ends_with('s')) {
        (Some(stem), _) => format!("{stem}ies"),
        (None, true) => format!("{kind}es"),
        (None, false) => format!("{kind}s"),
    }
}

/// Where objects are: `path("batch/v1", "team-a", "jobs")`. Some are in no namespace, which is empty then.
pub(crate) fn path(api_version: &str, namespace: &str, resource: &str) -> String {
    let core = !api_version.contains('/');
    let prefix = if core { "api" } else { "apis" };
    match namespace {
        "" => format!("/{prefix}/{api_version}/{resource}"),
        _ => format!("/{prefix}/{api_version}/namespaces/{namespace}/{resource}"),
    }
}

/// Where the Jobs of a namespace are.
pub(crate) fn jobs(namespace: &str) -> String {
    path("batch/v1", namespace, "jobs")
}

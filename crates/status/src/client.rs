//! Reads from kube-apiserver.

use std::collections::BTreeMap;
use std::fmt;

use http::uri::PathAndQuery;
use http::{Request, Uri, request};
use kube::config::KubeConfigOptions;
use kube::{Config, Error};
use managed_by::Release;
use managed_by_console::exit::CliError;
use managed_by_console::interrupt;
use serde_json::Value;

use crate::output::UnreadResource;
use crate::resources::Resource;

/// Objects per request, as in kubectl.
const PAGE: usize = 500;

pub(super) struct Client(kube::Client);

/// Reason why a resource could not be read.
#[derive(Debug)]
pub(super) enum ReadError {
    NotFound,
    Forbidden,
    Other(String),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(status) if status.code == 404 => Self::NotFound,
            Error::Api(status) if status.code == 403 => Self::Forbidden,
            Error::Api(status) => Self::Other(status.message),
            error => Self::Other(message(&error)),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "not found",
            Self::Forbidden => "forbidden",
            Self::Other(text) => text,
        })
    }
}

/// Formats an error with its causes.
fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

impl ReadError {
    /// Returns the entry for a kind whose workloads were not read.
    pub(super) fn unchecked(self, resource: &Resource) -> Result<UnreadResource, CliError> {
        let part = self.unchecked_part(resource.to_string())?;
        Ok(UnreadResource {
            has_workloads: true,
            ..part
        })
    }

    /// Returns the entry for a resource that verdicts depend on.
    ///
    /// # Errors
    /// Fails unless the user lacks a permission: half a report would look like a whole one.
    pub(super) fn unchecked_part(self, resource: String) -> Result<UnreadResource, CliError> {
        match self {
            Self::Forbidden => Ok(UnreadResource {
                resource,
                reason: "forbidden".to_owned(),
                has_workloads: false,
            }),
            Self::NotFound => Err(CliError::Error(format!("{resource}: not found"))),
            Self::Other(text) => Err(CliError::Error(format!("{resource}: {text}"))),
        }
    }
}

impl Client {
    /// Connects to the cluster of a context, or of the current context, or to the cluster that the program runs in.
    pub(super) async fn connect(context: Option<&str>) -> Result<Self, CliError> {
        let failed = |e: &dyn std::error::Error| CliError::Error(message(e));
        let config = match context {
            Some(context) => {
                let options = KubeConfigOptions {
                    context: Some(context.to_owned()),
                    ..KubeConfigOptions::default()
                };
                let config = Config::from_kubeconfig(&options).await;
                config.map_err(|e| failed(&e))?
            }
            None => Config::infer().await.map_err(|e| failed(&e))?,
        };
        let client = kube::Client::try_from(config).map_err(|e| failed(&e))?;
        Ok(Self(client))
    }

    /// Returns the namespace of the context.
    pub(super) fn default_namespace(&self) -> &str {
        self.0.default_namespace()
    }

    /// Returns the release of the cluster, if its rules are known.
    pub(super) async fn release(&self) -> Result<Option<Release>, CliError> {
        let version = self.0.apiserver_version().await;
        let version = version.map_err(|e| CliError::Error(message(&e)))?;
        Ok(version.git_version.parse().ok())
    }

    /// Returns the served versions by API group, the preferred version first.
    pub(super) async fn served_groups(&self) -> Result<BTreeMap<String, Vec<String>>, CliError> {
        let groups = self.0.list_api_groups().await;
        let groups = groups.map_err(|e| CliError::Error(message(&e)))?;
        let versions = groups.groups.into_iter().map(|group| {
            let preferred = group.preferred_version.into_iter();
            let versions = preferred.chain(group.versions);
            (group.name, versions.map(|served| served.version).collect())
        });
        Ok(versions.collect())
    }

    pub(super) async fn serves(&self, resource: &Resource) -> Result<bool, ReadError> {
        let version = resource.group_version();
        let served = match self.0.list_api_group_resources(&version).await {
            Ok(served) => served,
            Err(error) => {
                return match ReadError::from(error) {
                    ReadError::NotFound => Ok(false),
                    error => Err(error),
                };
            }
        };
        let mut served = served.resources.into_iter();
        Ok(served.any(|one| one.name == resource.plural))
    }

    /// Returns an object as JSON.
    pub(super) async fn get(&self, path: &str) -> Result<String, ReadError> {
        let request = Request::get(path).body(Vec::new());
        let request = request.map_err(|e| ReadError::Other(e.to_string()))?;
        Ok(self.0.request_text(request).await?)
    }

    /// Creates an object, or applies fields to it (server-side apply), with a field manager.
    pub(super) async fn apply(
        &self,
        path: &str,
        manager: &str,
        object: &Value,
    ) -> Result<(), ReadError> {
        let path = format!("{path}?fieldManager={manager}&force=true");
        let request = Request::patch(path).header("content-type", "application/apply-patch+yaml");
        self.send(request, object.to_string().into_bytes()).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<(), ReadError> {
        self.send(Request::delete(path), Vec::new()).await
    }

    async fn send(&self, request: request::Builder, body: Vec<u8>) -> Result<(), ReadError> {
        let request = request.body(body);
        let request = request.map_err(|e| ReadError::Other(e.to_string()))?;
        self.0.request_text(request).await?;
        Ok(())
    }

    /// Lists a resource, and calls a function with each page as JSON.
    pub(super) async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        labels: &str,
        mut each: impl FnMut(&str),
    ) -> Result<(), ReadError> {
        let path = resource.path(namespace, "");
        let mut next = String::new();
        loop {
            let page = self.page(&path, labels, &next).await?;
            each(&page);
            next = continue_token(&page);
            if next.is_empty() || interrupt::is_interrupted() {
                return Ok(());
            }
        }
    }

    /// Returns a page of a list as JSON.
    async fn page(&self, path: &str, labels: &str, next: &str) -> Result<String, ReadError> {
        let mut query = form_urlencoded::Serializer::new(format!("{path}?"));
        query.append_pair("limit", &PAGE.to_string());
        for (name, value) in [("labelSelector", labels), ("continue", next)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        self.get(&query.finish()).await
    }
}

/// Sends metrics to a Pushgateway, or to another program that accepts them by POST.
pub(super) async fn push(url: &Uri, metrics: String) -> Result<(), String> {
    // A client adds the path of each request to this URL.
    let mut server = url.clone().into_parts();
    server.path_and_query = Some(PathAndQuery::from_static("/"));
    let server = Uri::from_parts(server).map_err(|e| e.to_string())?;
    let client = kube::Client::try_from(Config::new(server));
    let client = client.map_err(|e| message(&e))?;
    let request = Request::post(url.path()).header("content-type", "text/plain; version=0.0.4");
    let request = request.body(metrics.into_bytes());
    let request = request.map_err(|e| e.to_string())?;
    let pushed = client.request_text(request).await;
    pushed.map(drop).map_err(|e| message(&e))
}

/// Returns the token of the next page, or an empty text after the last.
fn continue_token(list: &str) -> String {
    #[derive(serde::Deserialize)]
    struct List {
        metadata: Metadata,
    }
    #[derive(serde::Deserialize)]
    struct Metadata {
        #[serde(default, rename = "continue")]
        next: String,
    }
    serde_json::from_str(list).map_or_else(|_| String::new(), |list: List| list.metadata.next)
}

//! Reads from kube-apiserver.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::error::Error;
use std::time::SystemTime;
use std::{env, fmt, fs};

use chrono::{DateTime, Utc};
use http::header::{CONTENT_TYPE, DATE};
use http::uri::PathAndQuery;
use http::{Request, Uri, request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroupList, APIResourceList, ListMeta, Status,
};
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Config;
use kube::client::{AuthError, Body};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use managed_by_console::exit::CliError;
use managed_by_console::format::set;
use managed_by_console::interrupt;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::resources::Resource;

/// Objects of the first page. Their size determines how many are on the next page.
const FIRST_PAGE: usize = 16;
/// Maximum number of objects per page, as in kubectl.
const MAX_PAGE: usize = 500;
/// Intended size of a page in bytes.
const PAGE_SIZE: usize = 4 << 20;
/// Maximum size of a response in bytes. A larger page is requested again with fewer objects.
const MAX_RESPONSE: usize = 32 << 20;

pub(super) struct Client {
    inner: kube::Client,
    /// Context and URL of the server, for messages.
    server: String,
    is_interrupted: fn() -> bool,
    /// Time of the API server at the last response.
    time: Cell<Option<DateTime<Utc>>>,
}

/// Reason why a resource could not be read.
#[derive(Debug)]
pub(super) enum ReadError {
    NotFound,
    Forbidden,
    /// The list is too old for the next page. With the token, it continues with the current objects.
    Expired(String),
    TooLarge,
    Other(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "not found",
            Self::Forbidden => "forbidden",
            Self::Expired(_) => "the list expired while it was read",
            Self::TooLarge => "the response is too large",
            Self::Other(text) => text,
        })
    }
}

fn message(error: &(dyn Error + 'static)) -> String {
    // Their own texts contain debugging output, or what may be a credential. kube doesn't capture the plugin's errors.
    match error.downcast_ref() {
        Some(AuthError::AuthExecRun { out, .. }) => return out.status.to_string(),
        Some(AuthError::AuthExecParse(_)) => return "the output is no ExecCredential".to_owned(),
        _ => {}
    }
    let own = match error.downcast_ref() {
        Some(kube::Error::Service(_) | kube::Error::Auth(_)) => String::new(),
        _ => error.to_string(),
    };
    let cause = error.source().map(message).unwrap_or_default();
    match (&*own, &*cause) {
        ("", text) | (text, "") => text.to_owned(),
        _ if own.contains(&cause) => own,
        _ => format!("{own}: {cause}"),
    }
}

/// Reads the kubeconfig. Like kubectl, ignores missing files of a list.
fn kubeconfig() -> Result<Kubeconfig, KubeconfigError> {
    let list = env::var_os("KUBECONFIG").unwrap_or_default();
    let files = env::split_paths(&list).filter(|file| file.exists());
    let mut files = files.map(Kubeconfig::read_from).peekable();
    if files.peek().is_none() {
        return Kubeconfig::read();
    }
    files.try_fold(Kubeconfig::default(), |merged, file| merged.merge(file?))
}

#[derive(Deserialize)]
struct List<'p> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow)]
    items: Option<Vec<&'p RawValue>>,
}

impl Client {
    /// Connects to the cluster of a context, or of the current context, or to the cluster that the program runs in.
    pub(super) async fn connect(context: Option<&str>) -> Result<Self, CliError> {
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        let read = kubeconfig();
        let current = read.as_ref().ok();
        let current = current.and_then(|read| read.current_context.as_deref());
        let place = context.or(current);
        let place = place.map_or_else(String::new, |context| format!("context {context}: "));
        let failed = |e: &(dyn Error + 'static)| CliError::Error(format!("{place}{}", message(e)));
        let is_in_pod = context.is_none() && env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        let mut config = match read {
            Ok(read) => {
                let config = Config::from_custom_kubeconfig(read, &options).await;
                config.map_err(|e| failed(&e))?
            }
            Err(_) if is_in_pod => Config::incluster().map_err(|e| failed(&e))?,
            Err(KubeconfigError::ReadConfig(e, file)) => {
                let file = file.display();
                let text = format!("kubeconfig {file}: {e}; set KUBECONFIG");
                return Err(CliError::Error(text));
            }
            Err(e) => return Err(failed(&e)),
        };
        let server = format!("{place}{}", config.cluster_url);
        if config.cluster_url.scheme().is_none() {
            let text = "expected a URL that starts with https://";
            return Err(CliError::Error(format!("{server}: {text}")));
        }
        // kube panics about a line break, as at the end of many files.
        let mut auth = serde_json::to_value(&config.auth_info).unwrap_or_default();
        let token = auth.get("token").and_then(Value::as_str);
        let file = config.auth_info.token_file.as_ref();
        let file = file.and_then(|file| fs::read_to_string(file).ok());
        let token = token.map(str::to_owned).or(file).unwrap_or_default();
        if token.contains(char::is_control) {
            let token = token.replace(char::is_control, "");
            set(&mut auth, "token", token.into());
            config.auth_info = serde_json::from_value(auth).unwrap_or_default();
        }
        let plugin = config.auth_info.exec.clone();
        let client = kube::Client::try_from(config).map_err(|e| {
            let plugin = plugin.map_or_else(String::new, |plugin| {
                let command = plugin.command.unwrap_or_default();
                let hint = plugin.install_hint.unwrap_or_default();
                format!(" (plugin {command}) {}", hint.trim())
            });
            CliError::Error(format!("{server}: {}{}", message(&e), plugin.trim_end()))
        })?;
        Ok(Self::new(client, server, interrupt::is_interrupted))
    }

    pub(super) fn new(client: kube::Client, server: String, is_interrupted: fn() -> bool) -> Self {
        Self {
            inner: client,
            server,
            is_interrupted,
            time: Cell::new(None),
        }
    }

    pub(super) fn default_namespace(&self) -> &str {
        self.inner.default_namespace()
    }

    /// Returns the time of the API server at the last response, or the local time if it sent none.
    pub(super) fn time(&self) -> DateTime<Utc> {
        let local = || SystemTime::now().into();
        self.time.get().unwrap_or_else(local)
    }

    /// Returns the version of the cluster, such as `v1.37.2`.
    pub(super) async fn version(&self) -> Result<String, ReadError> {
        let version: Info = parse(&self.get("/version").await?)?;
        Ok(version.git_version)
    }

    /// Returns the served versions by API group, the preferred version first.
    pub(super) async fn served_groups(&self) -> Result<BTreeMap<String, Vec<String>>, ReadError> {
        let groups: APIGroupList = parse(&self.get("/apis").await?)?;
        if groups.groups.is_empty() {
            return Err(ReadError::Other("the API server lists none".to_owned()));
        }
        let versions = groups.groups.into_iter().map(|group| {
            let versions = group.preferred_version.into_iter().chain(group.versions);
            (group.name, versions.map(|served| served.version).collect())
        });
        Ok(versions.collect())
    }

    /// Returns the resources of a group and version by their plural names, each with true if it is namespaced.
    pub(super) async fn served_resources(
        &self,
        group_version: &str,
    ) -> Result<BTreeMap<String, bool>, ReadError> {
        let served: APIResourceList = parse(&self.get(&format!("/apis/{group_version}")).await?)?;
        let resources = served.resources.into_iter();
        Ok(resources.map(|one| (one.name, one.namespaced)).collect())
    }

    pub(super) async fn get(&self, path: &str) -> Result<String, ReadError> {
        self.send(Request::get(path), Vec::new()).await
    }

    /// Creates an object, or applies fields to it (server-side apply), with a field manager.
    pub(super) async fn apply(
        &self,
        path: &str,
        manager: &str,
        object: &Value,
    ) -> Result<(), ReadError> {
        let path = format!("{path}?fieldManager={manager}&force=true");
        let request = Request::patch(path).header(CONTENT_TYPE, "application/apply-patch+yaml");
        let sent = self.send(request, object.to_string().into_bytes()).await;
        sent.map(drop)
    }

    pub(super) async fn delete(&self, path: &str) -> Result<(), ReadError> {
        self.send(Request::delete(path), Vec::new()).await.map(drop)
    }

    /// Returns an error that ends the run.
    pub(super) fn failed(&self, error: &ReadError) -> CliError {
        CliError::Error(format!("{}: {error}", self.server))
    }

    /// Sends a request, and returns the body of the response.
    async fn send(&self, request: request::Builder, body: Vec<u8>) -> Result<String, ReadError> {
        let other = ReadError::Other;
        let request = request.body(Body::from(body));
        let request = request.map_err(|e| other(e.to_string()))?;
        let response = self.inner.send(request).await;
        let response = response.map_err(|e| other(message(&e)))?;
        let time = response.headers().get(DATE);
        let time = time.and_then(|date| DateTime::parse_from_rfc2822(date.to_str().ok()?).ok());
        self.time.set(time.map(|time| time.to_utc()));
        let code = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE);
        let body = match body.collect().await {
            Ok(body) => String::from_utf8(body.to_bytes().into()),
            Err(e) if e.is::<LengthLimitError>() => return Err(ReadError::TooLarge),
            Err(e) => return Err(other(message(&*e))),
        };
        let body = body.map_err(|e| other(e.to_string()))?;
        if code.is_success() {
            return Ok(body);
        }
        let status: Status = serde_json::from_str(&body).unwrap_or_default();
        Err(match code.as_u16() {
            403 => ReadError::Forbidden,
            404 => ReadError::NotFound,
            410 => ReadError::Expired(status.metadata.continue_.unwrap_or_default()),
            _ => match status.message.filter(|text| !text.is_empty()) {
                Some(text) => ReadError::Other(text),
                None => other(code.to_string()),
            },
        })
    }

    /// Lists a resource with selectors, and calls a function with each page and its items. After an error, the pages may lack objects.
    pub(super) async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selectors: &[(&str, &str)],
        mut each: impl FnMut(&str, &[&RawValue]),
    ) -> Result<(), ReadError> {
        let path = resource.path(namespace, "");
        let (mut next, mut limit) = (String::new(), FIRST_PAGE);
        loop {
            if (self.is_interrupted)() {
                return Err(ReadError::Other("interrupted".to_owned()));
            }
            let mut query = form_urlencoded::Serializer::new(format!("{path}?"));
            query.append_pair("limit", &limit.to_string());
            for (name, value) in selectors.iter().chain(&[("continue", &*next)]) {
                if !value.is_empty() {
                    query.append_pair(name, value);
                }
            }
            let json = match self.get(&query.finish()).await {
                Err(ReadError::TooLarge) if limit > 1 => {
                    limit = limit.checked_div(8).unwrap_or(0).max(1);
                    continue;
                }
                Err(ReadError::Expired(token)) if !token.is_empty() && token != next => {
                    next = token;
                    continue;
                }
                json => json?,
            };
            let list: List<'_> = parse(&json)?;
            let items = list.items.unwrap_or_default();
            let size = json.len().checked_div(items.len().max(1)).unwrap_or(0);
            let fitting = PAGE_SIZE.checked_div(size).unwrap_or(1);
            each(&json, &items);
            next = list.metadata.continue_.unwrap_or_default();
            limit = fitting.clamp(1, MAX_PAGE).min(limit.saturating_mul(8));
            if next.is_empty() {
                return Ok(());
            }
        }
    }
}

fn parse<'j, T: Deserialize<'j>>(json: &'j str) -> Result<T, ReadError> {
    let parsed = serde_json::from_str(json);
    parsed.map_err(|e| ReadError::Other(format!("unexpected response: {e}")))
}

/// Sends metrics to a Pushgateway, or to another program that accepts them by POST.
pub(super) async fn push(url: &Uri, metrics: String) -> Result<(), String> {
    // A client adds the path of each request to this URL.
    let mut server = url.clone().into_parts();
    server.path_and_query = Some(PathAndQuery::from_static("/"));
    let server = Uri::from_parts(server).map_err(|e| e.to_string())?;
    let client = kube::Client::try_from(Config::new(server));
    let client = client.map_err(|e| message(&e))?;
    let request = Request::post(url.path()).header(CONTENT_TYPE, "text/plain; version=0.0.4");
    let request = request.body(metrics.into_bytes());
    let request = request.map_err(|e| e.to_string())?;
    let pushed = client.request_text(request).await;
    pushed.map(drop).map_err(|e| message(&e))
}

//! An API server in memory, for tests of the reader: it serves objects like kube-apiserver, and fails on request.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Write as _};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use clap::Parser;
use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::runtime;

use managed_by_console::exit::CliError;
use managed_by_console::settings::ResolvedSettings;

use crate::args::StatusArgs;
use crate::output::StatusReport;
use crate::{Client, Reader};

/// Fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A response with this code.
    Code(u16),
    /// The list expires after its first page, and the response has a token to continue with the current objects.
    Expired,
    Reset,
    Interrupt,
    Malformed,
}

/// A cluster.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// Time in the header `Date`.
    pub(crate) now: DateTime<Utc>,
    /// Objects by the path of their resource: `batch/v1/jobs`.
    pub(crate) objects: BTreeMap<String, Vec<Value>>,
    /// Plural names of resources without a namespace.
    pub(crate) without_namespace: BTreeSet<&'static str>,
    /// The fault of every request with this path.
    pub(crate) faults: BTreeMap<String, Fault>,
    /// Objects per page at most.
    pub(crate) page: usize,
    pub(crate) settings: String,
    /// Arguments of `status`.
    pub(crate) args: Vec<String>,
}

/// Result of a run of `status`.
pub(crate) struct Run {
    pub(crate) report: Result<StatusReport, CliError>,
    /// Paths of the requests.
    pub(crate) requests: BTreeSet<String>,
    /// Limits of the lists' pages.
    pub(crate) limits: Vec<usize>,
}

thread_local! {
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: StatusArgs,
}

impl Cluster {
    pub(crate) fn new(now: DateTime<Utc>) -> Self {
        Self {
            now,
            objects: BTreeMap::new(),
            without_namespace: [
                "multikueueclusters",
                "multikueueconfigs",
                "admissionchecks",
                "clusterqueues",
            ]
            .into(),
            faults: BTreeMap::new(),
            page: 3,
            settings: "{}".to_owned(),
            args: vec!["-A".to_owned()],
        }
    }

    /// Adds an object to a resource: `batch/v1/jobs`.
    pub(crate) fn add(&mut self, resource: &str, object: Value) {
        let list = self.objects.entry(resource.to_owned()).or_default();
        list.push(object);
    }

    /// Reads the cluster with the real reader.
    pub(crate) fn run(&self) -> Run {
        let mut settings = NamedTempFile::with_suffix(".json").unwrap();
        settings.write_all(self.settings.as_bytes()).unwrap();
        let settings = ResolvedSettings::from_file(Some(settings.path())).unwrap();
        let arguments = self.args.iter().map(String::as_str);
        let Command { args } = Command::parse_from(["status"].into_iter().chain(arguments));
        let log = Arc::new(Mutex::new((BTreeSet::new(), Vec::new())));
        let (cluster, requests) = (Arc::new(self.clone()), Arc::clone(&log));
        let service = tower::service_fn(move |request: Request<Body>| {
            let (cluster, log) = (Arc::clone(&cluster), Arc::clone(&requests));
            async move { cluster.respond(&request, &mut log.lock().unwrap()) }
        });
        INTERRUPTED.set(false);
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        let report = runtime.block_on(async {
            let client = kube::Client::new(service, "team-mk");
            let client = Client::new(client, "https://fake".to_owned(), || INTERRUPTED.get());
            Reader::new(client, &args, &settings).read().await
        });
        drop(runtime);
        let (requests, limits) = std::mem::take(&mut *log.lock().unwrap());
        Run {
            report,
            requests,
            limits,
        }
    }

    /// Returns the report of a run that succeeds.
    pub(crate) fn report(&self) -> StatusReport {
        self.run().report.unwrap()
    }

    fn respond(
        &self,
        request: &Request<Body>,
        log: &mut (BTreeSet<String>, Vec<usize>),
    ) -> Result<Response<Body>, Error> {
        let path = request.uri().path();
        let query: BTreeMap<_, _> = request.uri().query().map_or_else(BTreeMap::new, |query| {
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect()
        });
        log.0.insert(path.to_owned());
        log.1.extend(
            query
                .get("limit")
                .map(|limit| limit.parse::<usize>().unwrap()),
        );
        let fault = self.faults.get(path);
        let is_second_page = query.contains_key("continue");
        let (code, body) = match fault {
            Some(Fault::Reset) => return Err(ErrorKind::ConnectionReset.into()),
            Some(Fault::Malformed) => (200, "{\"items\": [".to_owned()),
            Some(Fault::Code(code)) => (
                *code,
                json!({"kind": "Status", "message": format!("code {code}"), "code": code})
                    .to_string(),
            ),
            Some(Fault::Expired)
                if query
                    .get("continue")
                    .is_some_and(|next| !next.starts_with("new-")) =>
            {
                let next = format!("new-{}", query["continue"]);
                (410, json!({"kind": "Status", "message": "expired", "code": 410, "metadata": {"continue": next}}).to_string())
            }
            Some(Fault::Interrupt | Fault::Expired) | None => {
                if fault == Some(&Fault::Interrupt) && !is_second_page {
                    INTERRUPTED.set(true);
                }
                match self.get(path, &query) {
                    Some(body) => (200, body.to_string()),
                    None => (
                        404,
                        json!({"kind": "Status", "message": "not found", "code": 404}).to_string(),
                    ),
                }
            }
        };
        let date = self.now.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let response = Response::builder().status(code).header("date", date);
        Ok(response.body(Body::from(body.into_bytes())).unwrap())
    }

    fn get(&self, path: &str, query: &BTreeMap<String, String>) -> Option<Value> {
        let resources = self.objects.keys().map(|resource| {
            let mut parts = resource.split('/');
            [(); 3].map(|()| parts.next().unwrap())
        });
        if path == "/version" {
            return Some(json!({"gitVersion": "v1.36.3"}));
        }
        if path == "/apis" {
            let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for [group, version, _] in resources {
                groups.entry(group).or_default().insert(version);
            }
            let groups = groups.into_iter().map(|(group, versions)| {
                let versions = versions.into_iter();
                let versions: Vec<_> = versions.map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version})).collect();
                json!({"name": group, "versions": versions, "preferredVersion": versions[0]})
            });
            return Some(json!({"groups": groups.collect::<Vec<_>>()}));
        }
        let parts: Vec<_> = path.strip_prefix("/apis/")?.split('/').collect();
        let (group, version, namespace, plural, name) = match *parts {
            [group, version] => {
                let served = resources.filter(|[g, v, _]| (*g, *v) == (group, version));
                let served: Vec<_> = served
                    .map(|[_, _, plural]| json!({"name": plural, "namespaced": !self.without_namespace.contains(plural)}))
                    .collect();
                return (!served.is_empty()).then(|| json!({"resources": served}));
            }
            [group, version, plural] => (group, version, None, plural, None),
            [group, version, "namespaces", namespace, plural] => {
                (group, version, Some(namespace), plural, None)
            }
            [group, version, "namespaces", namespace, plural, name] => {
                (group, version, Some(namespace), plural, Some(name))
            }
            _ => return None,
        };
        let objects = self.objects.get(&format!("{group}/{version}/{plural}"))?;
        let field = query.get("fieldSelector");
        let field = field.map(|field| field.strip_prefix("metadata.name=").unwrap());
        let name = name.or(field);
        let is_selected = |object: &&Value| {
            let metadata = &object["metadata"];
            namespace.is_none_or(|namespace| metadata["namespace"] == namespace)
                && name.is_none_or(|name| metadata["name"] == name)
        };
        let mut selected = objects.iter().filter(is_selected);
        if parts.len() == 6 {
            return selected.next().cloned();
        }
        let begin = query.get("continue").map_or(0_usize, |next| {
            next.rsplit('-').next().unwrap().parse().unwrap()
        });
        let limit = query["limit"].parse::<usize>().unwrap().min(self.page);
        let selected: Vec<_> = selected.collect();
        let end = begin.saturating_add(limit).min(selected.len());
        let next = (end < selected.len()).then(|| end.to_string());
        let kind = objects.first().and_then(|object| object["kind"].as_str());
        Some(json!({
            "apiVersion": format!("{group}/{version}"),
            "kind": format!("{}List", kind.unwrap_or("Object")),
            "metadata": {"continue": next.unwrap_or_default()},
            "items": selected[begin..end],
        }))
    }
}

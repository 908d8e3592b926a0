//! An API server in memory, for tests of what reads a cluster: it serves objects like kube-apiserver, and fails on request.

#![expect(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tiny_http::{Header, Request, Response, Server};

/// Resource of the Leases of controllers.
pub const LEASES: &str = "coordination.k8s.io/v1/leases";
/// API version of Kueue's objects.
pub const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A response with this code.
    Code(u16),
    /// The list expires after its first page, and the response has a token to continue with the current objects.
    Expired,
    /// The connection ends without a response.
    Reset,
    /// The response is as without a fault. Only a caller of [`StubCluster::respond`] can interrupt the client.
    Interrupt,
    /// The JSON ends too early.
    Malformed,
}

#[derive(Debug, Clone)]
pub struct StubCluster {
    /// Time in the header `Date`.
    pub now: DateTime<Utc>,
    /// Objects by the path of their resource: `batch/v1/jobs`.
    pub objects: BTreeMap<String, Vec<Value>>,
    /// Plural names of resources without a namespace.
    pub without_namespace: BTreeSet<&'static str>,
    /// The fault of every request with this path.
    pub faults: BTreeMap<String, Fault>,
    /// Objects per page at most.
    pub page: usize,
}

/// Request that writes: `PATCH /apis/...`, and its body.
pub type Write = (String, Value);

/// Splits the target of a request into its path and its query.
pub fn split_target(target: &str) -> (&str, BTreeMap<String, String>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = form_urlencoded::parse(query.as_bytes());
    (path, query.into_owned().collect())
}

impl StubCluster {
    /// Returns a recorded management cluster with Kueue 0.19.2, `JobSet` 0.12.0 and Kubernetes 1.36.3, 15 minutes after the creation of
    /// the workloads (`no-requests`: with Kueue 0.18.4, its times moved). Their controllers have just renewed their Leases.
    pub fn recorded() -> Self {
        let recorded: Value = serde_json::from_str(include_str!("cluster.json")).unwrap();
        let mut cluster = Self {
            now: recorded["now"].as_str().unwrap().parse().unwrap(),
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
        };
        for (name, list) in recorded.as_object().unwrap() {
            let version = match &**name {
                "now" => continue,
                "jobs" => "batch/v1",
                "jobsets" => "jobset.x-k8s.io/v1alpha2",
                _ => KUEUE,
            };
            let list = list.as_array().unwrap().clone();
            cluster.objects.insert(format!("{version}/{name}"), list);
        }
        for (namespace, name) in [
            ("kube-system", "kube-controller-manager"),
            ("kueue-system", "c1f6bfd2.kueue.x-k8s.io"),
            ("jobset-system", "6d4f6a47.jobset.x-k8s.io"),
        ] {
            cluster.add_lease(namespace, name);
        }
        cluster
    }

    /// Adds an object to a resource: `batch/v1/jobs`.
    pub fn add(&mut self, resource: &str, object: Value) {
        let list = self.objects.entry(resource.to_owned()).or_default();
        list.push(object);
    }

    /// Adds a Lease that was renewed just now.
    pub fn add_lease(&mut self, namespace: &str, name: &str) {
        let metadata = json!({"name": name, "namespace": namespace});
        let spec = json!({"renewTime": self.now});
        self.add(LEASES, json!({"metadata": metadata, "spec": spec}));
    }

    /// Lets a request fail with a code.
    pub fn fail(&mut self, path: &str, code: u16) {
        self.faults.insert(path.to_owned(), Fault::Code(code));
    }

    /// Returns the value of the header `Date`.
    pub fn date(&self) -> String {
        self.now.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// Returns the code and the body of the response to a request; [`None`] if the connection ends.
    pub fn respond(&self, method: &str, target: &str) -> Option<(u16, String)> {
        let (path, query) = split_target(target);
        let status = |code, message| json!({"kind": "Status", "code": code, "message": message});
        let (code, body) = match self.faults.get(path) {
            Some(Fault::Reset) => return None,
            Some(Fault::Malformed) => return Some((200, "{\"items\": [".to_owned())),
            Some(Fault::Code(code)) => (*code, status(*code, format!("code {code}"))),
            Some(Fault::Expired)
                if query
                    .get("continue")
                    .is_some_and(|next| !next.starts_with("new-")) =>
            {
                let mut expired = status(410, "expired".to_owned());
                expired["metadata"] = json!({"continue": format!("new-{}", query["continue"])});
                (410, expired)
            }
            _ if method != "GET" => (200, json!({})),
            Some(Fault::Interrupt | Fault::Expired) | None => match self.get(path, &query) {
                Some(body) => (200, body),
                None => (404, status(404, "not found".to_owned())),
            },
        };
        Some((code, body.to_string()))
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

    /// Serves the cluster on a port while a client runs, which gets the address. Returns the requests that write, too.
    pub fn serve<T>(&self, client: impl FnOnce(&str) -> T) -> (T, Vec<Write>) {
        let server = Server::http("127.0.0.1:0").unwrap();
        let address = server.server_addr().to_string();
        let mut writes = Vec::new();
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                for request in server.incoming_requests() {
                    self.serve_request(request, &mut writes);
                }
            });
            let result = client(&address);
            server.unblock();
            result
        });
        (result, writes)
    }

    fn serve_request(&self, mut request: Request, writes: &mut Vec<Write>) {
        let (method, target) = (request.method().to_string(), request.url().to_owned());
        if method != "GET" {
            let mut text = String::new();
            request.as_reader().read_to_string(&mut text).unwrap();
            let body = serde_json::from_str(&text).unwrap_or(Value::from(text));
            writes.push((format!("{method} {}", split_target(&target).0), body));
        }
        if let Some((code, body)) = self.respond(&method, &target) {
            let date = Header::from_bytes("date", self.date()).unwrap();
            let response = Response::from_string(body).with_header(date);
            request.respond(response.with_status_code(code)).unwrap();
        }
    }
}

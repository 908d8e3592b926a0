//! The ways to do the job, each in a namespace of one cluster.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use ureq::Agent;

use crate::cluster::api_server::{ADMIN, ANA, ApiServer};
use crate::cluster::hook::job;
use crate::cluster::modules;
use crate::deploy::{self, base64, root};
use crate::http::{self, Answer};
use crate::kube::{done, jobs};
use crate::policy_server::{Place, PolicyServer, review};
use crate::process::{Process, free_port, until};
use crate::tls::Authority;

/// A way to do the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing but kube-apiserver.
    None,
    /// `ValidatingAdmissionPolicy`.
    Cel,
    /// OPA.
    Rego,
    /// A Kubewarden policy as most are.
    Usual,
    /// This project's.
    Ours,
}

impl Way {
    pub(super) const ALL: [Self; 5] = [Self::None, Self::Cel, Self::Rego, Self::Usual, Self::Ours];

    /// Its name in the results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Cel => "cel",
            Self::Rego => "rego",
            Self::Usual => "usual",
            Self::Ours => "ours",
        }
    }

    /// Where it is in force.
    pub(super) fn namespace(self) -> String {
        format!("compare-{}", self.name())
    }

    fn selector(self) -> Value {
        json!({"matchLabels": {"kubernetes.io/metadata.name": self.namespace()}})
    }

    /// What somebody has to keep: the files, without comments.
    pub(super) fn lines(self) -> Result<usize> {
        let files: &[&str] = match self {
            Self::None => &[],
            Self::Cel => &["compare/cel/policies.yaml"],
            Self::Rego => &["compare/rego/policy.rego"],
            Self::Usual => &["compare/usual/src/lib.rs", "compare/usual/src/job.rs"],
            Self::Ours => &["compare/settings.yml"],
        };
        let mut lines = 0;
        for file in files {
            let text = deploy::text(file)?;
            let is_code =
                |l: &&str| !l.trim().is_empty() && !l.trim_start().starts_with(['#', '/']);
            lines += text.lines().filter(is_code).count();
        }
        Ok(lines)
    }

    /// What is deployed, in bytes.
    pub(super) fn size(self) -> Result<u64> {
        let file = match self {
            Self::None => return Ok(0),
            Self::Cel => "compare/cel/policies.yaml",
            Self::Rego => "compare/rego/policy.rego",
            Self::Usual => USUAL,
            Self::Ours => deploy::MODULE,
        };
        Ok(fs::metadata(root(file)).context(file)?.len())
    }
}

/// The label of objects that are only being prepared.
pub(super) const SETUP: &str = "compare.example.com/setup";

/// `make compare` builds it.
const USUAL: &str = "target/compare/annotated-usual.wasm";

/// The cluster with all ways in force.
pub(super) struct Ways {
    pub(super) cluster: ApiServer,
    usual: PolicyServer,
    ours: PolicyServer,
    opa: Process,
    opa_url: String,
    agent: Agent,
}

impl Ways {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let authority = Authority::new()?;
        let cluster = ApiServer::start(folder, "cluster", &authority)?;
        let namespaces = Way::ALL.map(Way::namespace);
        cluster.namespaces(&namespaces.each_ref().map(String::as_str))?;
        for (group, version, plural, kind) in [
            ("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
            ("compare.example.com", "v1", "jobs", "Job"),
        ] {
            modules::crd(&cluster, &definition(group, version, plural, kind))?;
        }
        for way in Way::ALL {
            stored(&cluster, way)?;
        }
        let settings = &deploy::yaml("compare/settings.yml")?[0];
        let usual = json!({"module": deploy::module(USUAL)?, "policyMode": "protect", "settings": settings});
        let ours = deploy::protect(settings)?;
        let place = |name: &str| {
            let mut place = Place::new(folder, name, &authority)?;
            place.arguments = vec!["--log-level".to_owned(), "warn".to_owned()];
            anyhow::Ok(place)
        };
        let (usual_place, ours_place) =
            (place("policy-server-usual")?, place("policy-server-ours")?);
        let (opa, opa_url) = opa(folder, &authority)?;
        let urls = [
            (Way::Rego, format!("{opa_url}/v0/data/managedby/main")),
            (
                Way::Usual,
                format!("{}/validate/managed-by", usual_place.url()),
            ),
            (
                Way::Ours,
                format!("{}/validate/managed-by", ours_place.url()),
            ),
        ];
        let ways = Self {
            usual: usual_place.start(&json!({"managed-by": usual}))?,
            ours: ours_place.start(&json!({"managed-by": ours}))?,
            opa,
            opa_url,
            agent: http::agent(Some(&authority.pem()))?,
            cluster,
        };
        for (way, url) in urls {
            ways.webhook(way, &url, &authority)?;
        }
        ways.admission_policies()?;
        for way in Way::ALL.into_iter().filter(|way| *way != Way::None) {
            ways.in_force(way)?;
        }
        Ok(ways)
    }

    /// `deploy/webhook.yml` for one namespace and the kinds of the comparison, the same for all.
    fn webhook(&self, way: Way, url: &str, authority: &Authority) -> Result<()> {
        let mut configuration =
            deploy::webhook("https://127.0.0.1", &authority.pem(), &["jobset"])?;
        configuration["metadata"]["name"] = way.namespace().into();
        let webhook = &mut configuration["webhooks"][0];
        webhook["name"] = format!("{}.policies.example.com", way.name()).into();
        webhook["clientConfig"] =
            json!({"url": url, "caBundle": base64(authority.pem().as_bytes())});
        webhook["namespaceSelector"] = way.selector();
        let rules = webhook["rules"].as_array_mut().context("no rules")?;
        rules.retain(|rule| {
            ["batch", "jobset.x-k8s.io"]
                .map(Value::from)
                .contains(&rule["apiGroups"][0])
        });
        let path = format!(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{}",
            way.namespace()
        );
        done(self.cluster.client(ADMIN).apply(&path, &configuration)?)?;
        Ok(())
    }

    fn admission_policies(&self) -> Result<()> {
        const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
        const BINDINGS: &str =
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
        let admin = self.cluster.client(ADMIN);
        for policy in deploy::yaml("compare/cel/policies.yaml")? {
            let name = policy["metadata"]["name"].as_str().context("no name")?;
            let applied = done(admin.apply(&format!("{POLICIES}/{name}"), &policy)?)?;
            let action = if name.ends_with("warnings") {
                "Warn"
            } else {
                "Deny"
            };
            let binding = json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": name},
                "spec": {
                    "policyName": applied["metadata"]["name"],
                    "validationActions": [action],
                    "matchResources": {
                        "namespaceSelector": Way::Cel.selector(),
                        "objectSelector": {"matchExpressions": [{"key": SETUP, "operator": "DoesNotExist"}]},
                    },
                },
            });
            done(admin.apply(&format!("{BINDINGS}/{name}"), &binding)?)?;
        }
        Ok(())
    }

    /// Waits until a way denies what all of them deny.
    fn in_force(&self, way: Way) -> Result<()> {
        let namespace = way.namespace();
        let typo = job(
            &namespace,
            "probe",
            &json!({"managedBy": "kueue.x-k8s.io/multikeue"}),
        );
        let path = format!("{}?dryRun=All", jobs(&namespace));
        until(
            &format!("{} in force", way.name()),
            Duration::from_secs(30),
            || {
                let answer = self.cluster.client(ANA).post(&path, &typo)?;
                Ok((answer.code > 399 && answer.code < 500).then_some(()))
            },
        )
    }

    /// The server of a way, if it has one.
    pub(super) fn server(&self, way: Way) -> Option<&Process> {
        match way {
            Way::None | Way::Cel => None,
            Way::Rego => Some(&self.opa),
            Way::Usual => Some(&self.usual.process),
            Way::Ours => Some(&self.ours.process),
        }
    }

    /// Asks a server itself.
    pub(super) fn ask(&self, way: Way, body: Vec<u8>) -> Result<Answer> {
        let path = "/validate/managed-by";
        match way {
            Way::Rego => {
                let url = format!("{}/v0/data/managedby/main", self.opa_url);
                let request =
                    ureq::http::Request::post(url).header("content-type", "application/json");
                http::send(&self.agent, request.body(body)?)
            }
            Way::Usual => self.usual.post(path, "application/json", body),
            Way::None | Way::Cel | Way::Ours => self.ours.post(path, "application/json", body),
        }
    }

    /// Whether a server allows a request that is put to it without an API server.
    pub(super) fn allows(&self, way: Way, request: &Value) -> Result<bool> {
        let answer = self.ask(way, review(request).to_string().into_bytes())?;
        let allowed = answer.body["response"]["allowed"].as_bool();
        allowed.with_context(|| format!("{}: {} {}", way.name(), answer.code, answer.body))
    }
}

/// A Job with a typo from a time without a policy.
fn stored(cluster: &ApiServer, way: Way) -> Result<()> {
    let namespace = way.namespace();
    let mut old = job(
        &namespace,
        "stored",
        &json!({"managedBy": "kueue.x-k8s.io/multikeue"}),
    );
    old["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.client(ADMIN).create(&jobs(&namespace), &old)?;
    Ok(())
}

/// A kind without a schema and without webhooks.
fn definition(group: &str, version: &str, plural: &str, kind: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/jobset"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

/// OPA with the policy, on loopback.
fn opa(parent: &Path, authority: &Authority) -> Result<(Process, String)> {
    let folder = parent.join("opa");
    let files = authority.sign(&folder)?;
    let address = format!("127.0.0.1:{}", free_port()?);
    let policy = root("compare/rego/policy.rego").canonicalize()?;
    let mut process = Process::start("opa", "opa", &folder, |command| {
        command
            .args([
                "run",
                "--server",
                "--log-level=error",
                "--disable-telemetry",
                "--addr",
            ])
            .arg(&address)
            .arg(format!("--tls-cert-file={}", files.certificate.display()))
            .arg(format!("--tls-private-key-file={}", files.key.display()))
            .arg(policy)
    })?;
    let url = format!("https://{address}");
    let agent = http::agent(Some(&authority.pem()))?;
    let health = format!("{url}/health");
    process.wait_until("health", Duration::from_mins(1), || {
        agent
            .get(&health)
            .call()
            .is_ok_and(|answer| answer.status() == 200)
    })?;
    Ok((process, url))
}

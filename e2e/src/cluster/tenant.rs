//! A hostile tenant: somebody who has the role `edit` in one namespace, and may write the custom kinds there, in front
//! of `deploy/webhook.yml` with the settings of `deploy/management.yml`. Authorization is RBAC, as in a real cluster.
//!
//! `holes` are the ways around the policy that were open once, `held` is what was never open. The lines below a check are
//! the requests and their answers: below each of the holes, and below what failed.

mod held;
mod holes;
mod setup;

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::api_server::{ADMIN, ApiServer, Options, TENANT, USUAL};
use super::hook::{Hook, job};
use super::people::{MULTIKUEUE, TEAM, WRAPPERS};
use super::{fleet::JOBSETS, modules};
use crate::http::Answer;
use crate::kube::{self, Client, done, jobs, path};
use crate::process::until;
use crate::report::Report;
use crate::tls::Authority;

/// The projects of the cluster.
const PROJECTS: [&str; 3] = ["jobset", "kuberay", "appwrapper"];

const RAY: &str = "ray.io/v1";

/// A kind that the settings declare.
const WORKFLOWS: &str = "argoproj.io/v1alpha1";

/// How much of a request or an answer is printed.
const SHOWN: usize = 320;

/// A check, with what it is about.
type Check = (&'static str, fn(&Stage) -> Result<()>);

/// The cluster, and what was asked and answered since somebody last looked.
struct Stage {
    // In this order, so that PolicyServer ends before its API server.
    hook: Hook,
    cluster: ApiServer,
    tenant: Client,
    said: RefCell<Vec<String>>,
}

pub(super) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    report.section("tenant: ClusterRole edit behind deploy/management.yml and deploy/pods.yml");
    let started = Stage::start(&folder.join("tenant"), authority);
    let Some(stage) = report.need("they are in force", started) else {
        return;
    };
    report.section("tenant: what was a way around");
    stage.run(report, &holes::CHECKS, Shown::Always);
    report.section("tenant: what held");
    stage.run(report, &held::CHECKS, Shown::OfFailed);
}

/// Whether what was asked and answered is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Always,
    OfFailed,
}

/// How something is written.
#[derive(Debug, Clone, Copy)]
enum How {
    Create,
    Replace,
    JsonPatch,
    MergePatch,
    StrategicPatch,
    /// Server-side, by the manager `e2e`, with force.
    Apply,
    Delete,
}

impl How {
    fn method(self) -> (&'static str, &'static str) {
        match self {
            Self::Create => ("POST", kube::JSON),
            Self::Replace => ("PUT", kube::JSON),
            Self::JsonPatch => ("PATCH", kube::JSON_PATCH),
            Self::MergePatch => ("PATCH", kube::MERGE_PATCH),
            Self::StrategicPatch => ("PATCH", kube::STRATEGIC_PATCH),
            Self::Apply => ("PATCH", kube::APPLY),
            Self::Delete => ("DELETE", kube::JSON),
        }
    }
}

impl Stage {
    fn start(folder: &Path, authority: &Authority) -> Result<Self> {
        let rbac = Options {
            authorization_mode: "RBAC",
            ..USUAL
        };
        let cluster = ApiServer::start_with(folder, "management", authority, rbac)?;
        cluster.namespaces(&[TEAM])?;
        for crd in setup::crds() {
            modules::crd(&cluster, &crd)?;
        }
        setup::roles(&cluster)?;
        let (name, policies) = ("policy-server", setup::policies()?);
        let hook = Hook::prepare(folder, name, &cluster, authority, &policies, &PROJECTS)?;
        hook.apply(&cluster, setup::declared)?;
        hook.apply_pods(&cluster)?;
        let tenant = cluster.client(TENANT);
        let stage = Self {
            hook,
            cluster,
            tenant,
            said: RefCell::default(),
        };
        stage.in_force()?;
        Ok(stage)
    }

    /// Waits until the tenant has the roles, and until the webhook is asked, also about the kind that the settings declare.
    fn in_force(&self) -> Result<()> {
        Hook::in_force(&self.cluster)?;
        until("roles in force", Duration::from_secs(20), || {
            let path = format!("{}?dryRun=All", jobs(TEAM));
            done(self.tenant.post(&path, &job(TEAM, "probe", &delegated()))?).map(|_| Some(()))
        })?;
        until(
            "rule for Workflows in force",
            Duration::from_secs(20),
            || {
                let path = format!("{}?dryRun=All", path(WORKFLOWS, TEAM, "workflows"));
                let answer = self
                    .tenant
                    .post(&path, &workload(WORKFLOWS, "Workflow", "probe", &json!({})))?;
                Ok((answer.code == 403).then_some(()))
            },
        )
    }

    fn run(&self, report: &mut Report, checks: &[Check], shown: Shown) {
        for (what, check) in checks {
            let passed = report.check(what, check(self));
            let said = self.said.take();
            if !passed || shown == Shown::Always {
                for line in said {
                    report.note(&line);
                }
            }
        }
    }

    /// Asks, and notes down the question and the answer.
    fn ask(&self, who: &Client, how: How, path: &str, body: &Value) -> Result<Answer> {
        let (method, media_type) = how.method();
        let answer = match how {
            How::Apply => {
                let query = if path.contains('?') { '&' } else { '?' };
                let path = format!("{path}{query}fieldManager=e2e&force=true");
                who.request(method, &path, media_type, body)?
            }
            _ => who.request(method, path, media_type, body)?,
        };
        let name = who.token.rsplit(':').next().unwrap_or_default();
        let headers = who.headers.iter();
        let headers = headers.map(|(key, value)| format!(" {key}: {value}"));
        let headers = headers.collect::<Vec<_>>().concat();
        let how = match how {
            How::JsonPatch | How::MergePatch | How::StrategicPatch | How::Apply => {
                format!("{method} ({how:?})")
            }
            _ => method.to_owned(),
        };
        let body = match body {
            Value::Null => String::new(),
            body => brief(&body.to_string()),
        };
        self.note(format!("{name}{headers}: {how} {path} {body}"));
        let said = match (answer.message(), &answer.warnings[..]) {
            ("", []) => String::new(),
            ("", warnings) => format!("{warnings:?}"),
            (message, []) => message.to_owned(),
            (message, warnings) => format!("{message} {warnings:?}"),
        };
        self.note(format!("  {} {}", answer.code, brief(&said)));
        Ok(answer)
    }

    fn note(&self, line: String) {
        self.said.borrow_mut().push(line);
    }

    /// The tenant writes.
    fn tries(&self, how: How, path: &str, body: &Value) -> Result<Answer> {
        self.ask(&self.tenant, how, path, body)
    }

    /// The tenant creates something, which must succeed.
    fn given(&self, path: &str, object: &Value) -> Result<Value> {
        done(self.tries(How::Create, path, object)?)
    }

    /// What is stored.
    fn stored(&self, path: &str) -> Result<Value> {
        done(self.cluster.client(ADMIN).get(path)?)
    }

    /// There is no such object.
    fn absent(&self, path: &str) -> Result<()> {
        let code = self.cluster.client(ADMIN).get(path)?.code;
        ensure!(code == 404, "{path} is there: {code}");
        Ok(())
    }
}

/// A text in a line, not too long.
fn brief(text: &str) -> String {
    let mut line = String::new();
    for letter in text.chars().take(SHOWN) {
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    match text.len() {
        0..=SHOWN => line,
        length => format!("{line}... ({length} bytes)"),
    }
}

/// The spec that a management cluster wants.
fn delegated() -> Value {
    json!({"managedBy": MULTIKUEUE, "suspend": true})
}

/// A custom resource.
fn workload(api_version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// The answer has that code. The report shows the rest of it.
fn answered(answer: &Answer, code: u16) -> Result<()> {
    ensure!(answer.code == code, "the code is {}", answer.code);
    Ok(())
}

/// The answer is a refusal that holds the words.
fn refused(answer: &Answer, words: &[&str]) -> Result<()> {
    ensure!(
        (400..500).contains(&answer.code),
        "it was not refused: {}",
        answer.code
    );
    for word in words {
        ensure!(answer.message().contains(word), "not said: {word}");
    }
    Ok(())
}

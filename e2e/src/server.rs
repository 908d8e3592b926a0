//! `make e2e-server`: PolicyServer itself, over HTTPS, with policies that are made of `deploy/`.

mod bodies;
mod metrics;
mod pods;
mod start;
mod verdicts;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use managed_by::Offline;
use managed_by_testing::{answers, judge};
use serde_json::{Map, Value, json};

use crate::deploy;
use crate::policy_server::PolicyServer;
use crate::programs;
use crate::report;
use crate::tls::Authority;

/// Fine everywhere.
const DELEGATED: &str = "site/01-management-delegated-to-multikueue";

/// Everything that PolicyServer does for the policy.
pub(crate) fn run(folder: &Path) -> Option<()> {
    programs::all_there("PolicyServer", &["policy-server"])?;
    report::section(&programs::version("policy-server"));
    let authority = report::need("a certificate for the run", Authority::new())?;
    let cases = report::need("the requests with the library's answers", cases())?;
    let started = start(folder, &authority, &cases);
    let (server, policies) = report::need(
        "starts with several policies over TLS, and is ready",
        started,
    )?;
    verdicts::run(&server, &policies, &cases);
    bodies::run(&server, &cases);
    beside(&server);
    drop(server);

    report::section("starting");
    start::run(folder, &authority);
    report::section("metrics");
    report::check(
        "--enable-metrics: a collector is told of each policy by name",
        metrics::sent(folder, &authority, &cases),
    );
    report::section("pods");
    pods::run(folder, &authority);
    Some(())
}

/// What it answers to beside the policies.
fn beside(server: &PolicyServer) {
    for (what, urls) in [
        (
            "the readiness probe answers on a port of its own, and nothing else there",
            [
                (server.probe("/readiness"), 200),
                (server.probe("/validate/default"), 404),
            ],
        ),
        (
            "GET /metrics: there is none, on no port",
            [
                (server.probe("/metrics"), 404),
                (server.url("/metrics"), 404),
            ],
        ),
    ] {
        let mut urls = urls.into_iter();
        let answered = urls.try_for_each(|(url, code)| {
            let answer = server.get(&url)?;
            ensure!(answer.code == code, "{url}: {answer:?}");
            Ok(())
        });
        report::check(what, answered);
    }
}

/// `make doors`: every request, and the library's answer to it.
pub(crate) fn doors(folder: &Path) -> Option<()> {
    programs::all_there("PolicyServer", &["policy-server"])?;
    let asked = || {
        let (authority, cases) = (Authority::new()?, cases()?);
        let (server, _) = start(folder, &authority, &cases)?;
        verdicts::every_case(&server, &cases, 8)
    };
    report::need("PolicyServer: the library's answers", asked())
}

/// A request, the policy of [`start`] that is to judge it, and the answer.
struct Case {
    name: String,
    policy: String,
    request: Value,
    settings: Value,
    answer: Value,
}

/// Every line of `target/answers.ndjson`, each with a UID of its own, so that an answer cannot be taken for another's.
fn cases() -> Result<Vec<Case>> {
    let mut known: Vec<Value> = Vec::new();
    let numbered = answers::lines()?.enumerate();
    let cases = numbered.map(|(number, line)| {
        let line = line?;
        let index = known.iter().position(|s| *s == line.settings);
        let index = index.unwrap_or_else(|| {
            known.push(line.settings.clone());
            known.len() - 1
        });
        let mut request = line.request()?;
        request["uid"] = format!("00000000-0000-4000-8000-{number:012}").into();
        Ok(Case {
            answer: line.response(&request["uid"])?,
            name: line.name,
            policy: format!("settings-{index}"),
            request,
            settings: line.settings,
        })
    });
    cases.collect()
}

/// What PolicyServer in mode `protect` must answer: what the library says natively.
fn expected(request: &Value, settings: &Value) -> Value {
    let answer = judge::judge_in(&Offline, &request.to_string(), &settings.to_string());
    answer.response(&request["uid"])
}

/// Both responses, where they differ.
fn same(name: &str, answer: &Value, expected: &Value) -> Result<()> {
    ensure!(
        answer == expected,
        "{name}\nPolicyServer: {answer}\nexpected:     {expected}"
    );
    Ok(())
}

/// A server with the policies of `deploy/` as they are, one for each of the cases' settings, `default` without settings,
/// and groups of two.
fn start(
    folder: &Path,
    authority: &Authority,
    cases: &[Case],
) -> Result<(PolicyServer, Map<String, Value>)> {
    let mut policies = deploy::policies()?;
    for case in cases {
        if !policies.contains_key(&case.policy) {
            let policy = deploy::protect(&case.settings)?;
            policies.insert(case.policy.clone(), policy);
        }
    }
    let management = deploy::protect(&deploy::policy("management")?["settings"])?;
    let default = deploy::protect(&json!({}))?;
    let member = |policy: &Value| {
        let mut member = policy.clone();
        member.as_object_mut().map(|keys| keys.remove("policyMode"));
        member
    };
    for (name, expression) in [
        ("both", "upstream() && site()"),
        ("either", "upstream() || site()"),
    ] {
        let group = json!({
            "policies": {"upstream": member(&default), "site": member(&management)},
            "expression": expression,
            "message": "the group says no",
        });
        policies.insert(format!("group-{name}"), group);
    }
    policies.insert("default".to_owned(), default.clone());
    let mut worded = default;
    worded["message"] = "ask the platform team".into();
    policies.insert("worded".to_owned(), worded);
    let mut server = PolicyServer::new(&folder.join("policy-server"), authority)?;
    server.start(&Value::Object(policies.clone()))?;
    Ok((server, policies))
}

/// The first case of that name.
fn named<'c>(cases: &'c [Case], name: &str) -> Result<&'c Case> {
    let case = cases.iter().find(|c| c.name == name);
    case.with_context(|| format!("no example {name}"))
}

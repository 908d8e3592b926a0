//! `make e2e-server`: PolicyServer itself, over HTTPS, with policies that are made of `deploy/`.

mod bodies;
mod load;
mod metrics;
mod pods;
mod start;
mod verdicts;

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use crate::deploy;
use crate::example::{self, Example};
use crate::policy_server::{Place, PolicyServer};
use crate::programs;
use crate::report::Report;
use crate::tls::Authority;

/// Everything that PolicyServer does for the policy.
pub(crate) fn run(report: &mut Report, folder: &Path) {
    if !programs::all_there(report, "PolicyServer", &["policy-server"]) {
        return;
    }
    report.section(&programs::version("policy-server"));
    let authority = report.need("a certificate for the run", Authority::new());
    let Some(authority) = authority else { return };
    let cases = report.need("the examples and the recordings", cases());
    let Some(cases) = cases else { return };

    let judged = judge(folder, &authority, &cases);
    let Some((server, policies)) = report.need(
        "starts with several policies over TLS, and is ready",
        judged,
    ) else {
        return;
    };
    verdicts::run(report, &server, &policies, &cases);
    bodies::run(report, &server);
    load::run(report, &server, &cases);
    drop(server);

    report.section("starting");
    start::run(report, folder, &authority);
    report.section("metrics");
    metrics::run(report, folder);
    report.section("pods");
    pods::run(report, folder, &authority);
}

/// A request, and the policy of [`judge`] that is to judge it.
pub(crate) struct Case {
    pub(crate) policy: String,
    pub(crate) example: Example,
}

/// Every request that the repository holds, each with a UID of its own, so that an answer cannot be taken for another's.
fn cases() -> Result<Vec<Case>> {
    let examples = example::examples()?;
    let mut known: Vec<Value> = Vec::new();
    let mut cases = Vec::new();
    for mut example in examples.into_iter().chain(example::traces()?) {
        let index = known.iter().position(|s| *s == example.settings);
        let index = index.unwrap_or_else(|| {
            known.push(example.settings.clone());
            known.len() - 1
        });
        example.request["uid"] = format!("00000000-0000-4000-8000-{:012}", cases.len()).into();
        let policy = format!("settings-{index}");
        cases.push(Case { policy, example });
    }
    Ok(cases)
}

/// A server with the policies of `deploy/` as they are, one for each of the cases' settings, `default` without settings,
/// and groups of two.
fn judge(
    folder: &Path,
    authority: &Authority,
    cases: &[Case],
) -> Result<(PolicyServer, Map<String, Value>)> {
    let mut policies = deploy::policies()?;
    for case in cases {
        if !policies.contains_key(&case.policy) {
            let policy = deploy::protect(&case.example.settings)?;
            policies.insert(case.policy.clone(), policy);
        }
    }
    let management = deploy::protect(&deploy::policy("management")?["settings"])?;
    let default = deploy::protect(&json!({}))?;
    let member = |policy: &Value| {
        let mut member = policy.clone();
        if let Some(keys) = member.as_object_mut() {
            keys.remove("policyMode");
        }
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
    let place = Place::new(folder, "policy-server", authority)?;
    let server = place.start(&Value::Object(policies.clone()))?;
    Ok((server, policies))
}

/// The first case of that name.
fn named<'c>(cases: &'c [Case], name: &str) -> Result<&'c Case> {
    let case = cases.iter().find(|c| c.example.name == name);
    case.with_context(|| format!("no example {name}"))
}

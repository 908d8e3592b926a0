//! What PolicyServer answers is what the library says natively.

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};

use super::{Case, DELEGATED, expected, named, same};
use crate::deploy::POLICIES;
use crate::kube::{list, text};
use crate::load;
use crate::policy_server::PolicyServer;
use crate::report;

/// How many requests are under way at any time: each has a connection, and a process may open 1,024 files.
const AT_ONCE: usize = 200;

/// Denied with any settings.
const IMMUTABLE: &str = "field/10-field-changed-after-creation";

/// Fine for the API server, but not on a management cluster.
const NOT_DELEGATED: &str = "site/02-management-not-delegated";

pub(super) fn run(server: &PolicyServer, policies: &Map<String, Value>, cases: &[Case]) {
    report::check(
        &format!("every request, {AT_ONCE} at a time: the library's answer"),
        every_case(server, cases, AT_ONCE),
    );
    report::check("/audit answers the same", {
        cases
            .iter()
            .step_by(17)
            .try_for_each(|c| judged(server, "audit", c))
    });
    for name in POLICIES {
        report::check(
            &format!("deploy/{name}.yml as it is: monitor lets it pass and tells, /audit denies"),
            monitored(server, name, &policies[name]["settings"], cases),
        );
    }
    let name = "managed-by";
    report::check(
        "deploy/policies.yml as it is",
        monitored(server, name, &policies[name]["settings"], cases),
    );
    report::check("a message of the manifest's own", worded(server, cases));
    report::check("policy groups: both, either", groups(server, cases));
}

/// Asks about all cases, some at a time, each on a connection that is kept.
pub(super) fn every_case(server: &PolicyServer, cases: &[Case], at_once: usize) -> Result<()> {
    load::none_differ("PolicyServer", at_once, cases, |_, case| {
        judged(server, "validate", case)
    })
}

fn judged(server: &PolicyServer, way: &str, case: &Case) -> Result<()> {
    let answer = server.review(&format!("/{way}/{}", case.policy), &case.request)?;
    same(&case.name, &answer, &case.answer)
}

/// In mode `monitor` the verdict is not enforced, but warnings and annotations are there.
fn monitored(server: &PolicyServer, policy: &str, settings: &Value, cases: &[Case]) -> Result<()> {
    let request = &named(cases, IMMUTABLE)?.request;
    let denial = expected(request, settings);
    ensure!(denial["allowed"] == false, "{denial}");
    let audited = server.review(&format!("/audit/{policy}"), request)?;
    same(policy, &audited, &denial)?;
    let mut passed = denial;
    passed["allowed"] = true.into();
    passed.as_object_mut().map(|keys| keys.remove("status"));
    let answer = server.review(&format!("/validate/{policy}"), request)?;
    same(policy, &answer, &passed)?;
    let uid = text(&request["uid"]);
    let log = server.process()?.log()?;
    let said = log
        .lines()
        .any(|l| l.contains(uid) && l.contains("field is immutable"));
    ensure!(said, "the log does not say what {policy} would have denied");
    Ok(())
}

fn worded(server: &PolicyServer, cases: &[Case]) -> Result<()> {
    let request = &named(cases, IMMUTABLE)?.request;
    let answer = server.review("/validate/worded", request)?;
    let status = &answer["status"];
    ensure!(status["message"] == "ask the platform team", "{answer}");
    let cause = &status["details"]["causes"][0]["message"];
    let ours = expected(request, &json!({}));
    ensure!(*cause == ours["status"]["message"], "{answer}");
    Ok(())
}

/// What a group keeps of its members: their verdicts and messages, but neither codes nor warnings nor annotations.
fn groups(server: &PolicyServer, cases: &[Case]) -> Result<()> {
    for (group, name, causes) in [
        ("both", DELEGATED, &[][..]),
        ("either", DELEGATED, &[]),
        ("both", NOT_DELEGATED, &["spec.policies.site"]),
        ("either", NOT_DELEGATED, &[]),
        ("both", IMMUTABLE, &["spec.policies.upstream"]),
        (
            "either",
            IMMUTABLE,
            &["spec.policies.site", "spec.policies.upstream"],
        ),
    ] {
        let request = &named(cases, name)?.request;
        let answer = server.review(&format!("/validate/group-{group}"), request)?;
        let got = list(&answer["status"]["details"]["causes"]).iter();
        let mut got: Vec<_> = got.map(|c| c["field"].as_str()).collect();
        got.sort_unstable();
        let wanted: Vec<_> = causes.iter().map(|field| Some(*field)).collect();
        let is_right = answer["allowed"] == causes.is_empty() && got == wanted;
        ensure!(is_right, "{group} of {name}: {answer}");
    }
    Ok(())
}

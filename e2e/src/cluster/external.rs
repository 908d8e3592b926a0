//! A stand-in for an external controller: what a good one writes is accepted, and each thing that a bad one writes is
//! denied. The policy judges custom kinds alone; for Jobs the API server is first, and the rule about writers is ours.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::api_server::{ANA, ApiServer, KUEUE};
use super::hook::job;
use super::kubelet::now;
use super::people::{MULTIKUEUE, TEAM, WRAPPERS, expect, wrapper};
use crate::http::Answer;
use crate::kube::{Client, jobs, path};
use crate::report::Report;

pub(super) fn run(report: &mut Report, cluster: &ApiServer) {
    report.section("external: a stand-in for an external controller");
    let (kueue, ana) = (cluster.client(KUEUE), cluster.client(ANA));
    report.check("good: a Job from its start to its end", good(&ana, &kueue));
    report.check("good: a Job that fails", failing(&ana, &kueue));
    report.check(
        "bad: somebody else writes the status of a delegated Job",
        stranger(&ana),
    );
    report.check(
        "bad: the status of a Job that makes no sense",
        senseless(&ana, &kueue),
    );
    report.check(
        "good: an AppWrapper from its start to its end",
        good_wrapper(&ana, &kueue),
    );
    report.check(
        "bad: an outcome of an AppWrapper is taken back",
        taken_back(&kueue),
    );
    report.check(
        "bad: somebody else writes the status of an AppWrapper",
        strange_wrapper(&ana),
    );
}

fn handed_over(ana: &Client, name: &str) -> Result<String> {
    ana.create(
        &jobs(TEAM),
        &job(TEAM, name, &json!({"managedBy": MULTIKUEUE})),
    )?;
    Ok(format!("{}/{name}/status", jobs(TEAM)))
}

fn condition(name: &str) -> Value {
    json!({"type": name, "status": "True", "lastProbeTime": now(), "lastTransitionTime": now()})
}

/// Writes one status after the other, all of which are accepted in silence.
fn accepted(client: &Client, path: &str, statuses: &[Value]) -> Result<()> {
    for status in statuses {
        let answer = write(client, path, status)?;
        expect(&answer, 200, &[]).with_context(|| status.to_string())?;
        anyhow::ensure!(
            answer.warnings.is_empty(),
            "{status}: {:?}",
            answer.warnings
        );
    }
    Ok(())
}

fn write(client: &Client, path: &str, status: &Value) -> Result<Answer> {
    client.patch(path, &json!({"status": status}))
}

fn good(ana: &Client, kueue: &Client) -> Result<()> {
    let path = handed_over(ana, "good")?;
    let met = condition("SuccessCriteriaMet");
    accepted(
        kueue,
        &path,
        &[
            json!({"startTime": now(), "active": 1, "ready": 0}),
            json!({"ready": 1}),
            json!({"active": 0, "ready": 0, "succeeded": 1, "conditions": [met]}),
            json!({"completionTime": now(), "conditions": [met, condition("Complete")]}),
        ],
    )
}

fn failing(ana: &Client, kueue: &Client) -> Result<()> {
    let path = handed_over(ana, "failing")?;
    let target = condition("FailureTarget");
    accepted(
        kueue,
        &path,
        &[
            json!({"startTime": now(), "active": 1}),
            json!({"active": 0, "failed": 1, "conditions": [target]}),
            json!({"conditions": [target, condition("Failed")]}),
        ],
    )
}

fn stranger(ana: &Client) -> Result<()> {
    let path = handed_over(ana, "strange")?;
    let answer = write(ana, &path, &json!({"startTime": now(), "active": 1}))?;
    let words = [
        "jobs.batch \"strange\" is forbidden: User \"ana\" cannot update resource \"jobs/status\"",
        "status-writer/delegated",
    ];
    expect(&answer, 403, &words)
}

/// The API server itself says so, in words that ours repeat where it does not.
fn senseless(ana: &Client, kueue: &Client) -> Result<()> {
    let path = handed_over(ana, "senseless")?;
    let both = json!([condition("Complete"), condition("Failed")]);
    for (status, words) in [
        (json!({"active": -1}), "status.active"),
        (
            json!({"startTime": now(), "completionTime": now(), "conditions": both}),
            "Complete=True and Failed=true",
        ),
        (json!({"completionTime": now()}), "status.completionTime"),
    ] {
        let answer = write(kueue, &path, &status)?;
        expect(&answer, 422, &[]).with_context(|| status.to_string())?;
        let said = answer.message().to_lowercase();
        anyhow::ensure!(said.contains(&words.to_lowercase()), "{said}");
    }
    Ok(())
}

fn good_wrapper(ana: &Client, kueue: &Client) -> Result<()> {
    let wrappers = path(WRAPPERS, TEAM, "appwrappers");
    ana.create(&wrappers, &wrapper("good", &json!(MULTIKUEUE)))?;
    let phases =
        ["Suspended", "Resuming", "Running", "Succeeded"].map(|phase| json!({"phase": phase}));
    accepted(kueue, &format!("{wrappers}/good/status"), &phases)
}

fn taken_back(kueue: &Client) -> Result<()> {
    let path = format!("{}/good/status", path(WRAPPERS, TEAM, "appwrappers"));
    for phase in ["Running", "Failed"] {
        let answer = write(kueue, &path, &json!({"phase": phase}))?;
        expect(&answer, 422, &["denied the request", "status.phase"])?;
    }
    Ok(())
}

fn strange_wrapper(ana: &Client) -> Result<()> {
    let path = format!("{}/good/status", path(WRAPPERS, TEAM, "appwrappers"));
    let answer = write(ana, &path, &json!({"phase": "Succeeded", "retries": 1}))?;
    expect(&answer, 403, &["status-writer/delegated"])
}

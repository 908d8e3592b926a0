//! Tests reports on the recordings of real controllers, and on constructed writes.

use managed_by::{AdmissionRequest, Settings};
use managed_by_parity::trace;
use serde_json::{Value, json};

use super::builder::ReportBuilder;
use super::report::{ConformanceOutcome, ConformanceReport, RuleResult};
use super::writes::WriteLocation;

fn report(controller: &str, requests: &[Value]) -> ConformanceReport {
    let mut builder = ReportBuilder::new(controller, &Settings::default());
    for request in requests {
        let json = request.to_string();
        let parsed = AdmissionRequest::from_json(json.as_bytes()).unwrap();
        let identity = request["name"].as_str().unwrap();
        let location = WriteLocation::default();
        builder.add(&parsed, request, identity, &location).unwrap();
    }
    builder.finish(|_| false)
}

fn result<'r>(report: &'r ConformanceReport, id: &str) -> &'r RuleResult {
    report
        .rules
        .iter()
        .find(|result| result.rule == id)
        .unwrap()
}

fn recorded(stream: &str) -> Vec<Value> {
    let requests = trace::requests(stream).unwrap().into_iter();
    requests.map(|case| case.request()).collect()
}

#[test]
fn job_controller_conforms_since_1_32() {
    let report = report("kubernetes.io/job-controller", &recorded("jobs-1.36"));
    // 1.31 and some patch releases deny a suspended Job with `completions: 0` that finishes without `startTime`, and 1.30 denies `SuccessCriteriaMet` of
    // a Job that is not Indexed, see `docs/reference/job-status.md`.
    assert_eq!(
        report.headline(),
        "status denied by 1.30 to 1.32.6, 1.33.0 to 1.33.2, conforms to 1.32 from 1.32.7, 1.33.3 to 1.37 \
         (Core, Suspend, Indexed, BackoffLimitPerIndex, SuccessPolicy, PodFailurePolicy, Elastic)"
    );
    let outcome = |rule: &str| result(&report, rule).results.last().unwrap().outcome;
    assert_eq!(
        outcome("job-status/finished-with-active-pods"),
        ConformanceOutcome::Passed
    );
    assert_eq!(
        outcome("job-status/success-criteria-met-non-indexed"),
        ConformanceOutcome::NotInRelease
    );
    assert!(report.other_controller_writes > 0);
    // In this recording, no template of a suspended Job changes. A write exercises the next two rules if the counter could decrease
    // and the last two if `succeeded` or `failed` changes while the Job must not have the index list.
    for (rule, writes) in [
        ("job-spec/scheduling-directives", 0),
        ("job-status/failed-decreased", 14),
        ("job-status/succeeded-decreased", 6),
        ("job-status/completed-indexes-non-indexed", 10),
        (
            "job-status/failed-indexes-without-backoff-limit-per-index",
            7,
        ),
    ] {
        let result = result(&report, rule).results.last().unwrap();
        assert_eq!(result.exercised, writes, "{rule}");
    }
}

/// 1.30, 1.36.0 and 1.36.1 deny writes, and rules without a matching write are untested.
#[test]
fn multikueue_conforms_with_untested_rules() {
    let report = report(
        "kueue.x-k8s.io/multikueue",
        &recorded("multikueue-0.18-hub"),
    );
    assert_eq!(
        report.headline(),
        "status denied by 1.30, 1.36.0 to 1.36.1, conforms to 1.31 to 1.35, 1.36.2 to 1.37 \
         (Core, Indexed, BackoffLimitPerIndex, SuccessPolicy, Mirror)"
    );
    assert_eq!(report.writes, 349);
    let mut untested = report.untested_rules();
    assert!(untested.any(|rule| rule.rule == "job-status/completion-time-changed"));
}

/// On the worker cluster the Jobs are not delegated, so the Job controller reconciles them.
#[test]
fn job_controller_of_multikueue_worker_conforms() {
    let report = report(
        "kubernetes.io/job-controller",
        &recorded("multikueue-0.18-worker"),
    );
    assert_eq!(
        report.headline(),
        "status denied by 1.30, 1.36.0 to 1.36.1, conforms to 1.31 to 1.35, 1.36.2 to 1.37 (Core, Indexed, BackoffLimitPerIndex, SuccessPolicy)"
    );
    assert_eq!((report.writes, report.objects), (156, 27));
    assert!(report.other_controller_writes > 0, "JobSets");
}

/// Returns a status update of a Job that decreases a counter and keeps another field.
fn denied_write() -> Value {
    let job = |failed: u32| {
        json!({"metadata": {"name": "<pi>", "namespace": "a"}, "spec": {"managedBy": "acme.io/runner"},
            "status": {"startTime": "2026-01-01T00:00:00Z", "failed": failed}})
    };
    json!({"kind": {"group": "batch", "version": "v1", "kind": "Job"}, "name": "<pi>", "namespace": "a",
        "operation": "UPDATE", "subResource": "status", "oldObject": job(2), "object": job(1)})
}

/// The summary of a CI job stays below GitHub's limit of 1 MiB, and counts the omitted writes.
#[test]
fn markdown_limits_the_number_of_writes() {
    let writes: Vec<Value> = (0..25)
        .map(|index| {
            let mut write = denied_write();
            for (object, text) in [("object", "x"), ("oldObject", "y")] {
                write[object]["metadata"]["name"] = json!(format!("pi-{index}"));
                let condition =
                    json!({"type": text, "status": "True", "message": text.repeat(2000)});
                write[object]["status"]["conditions"] = json!(vec![condition; 200]);
            }
            write
        })
        .collect();
    let report = report("acme.io/runner", &writes);
    let markdown = report.markdown();
    assert!(markdown.len() < 1 << 20, "{}", markdown.len());
    assert_eq!(markdown.matches("```diff").count(), 20);
    // Each diff is truncated.
    assert_eq!(markdown.matches("\n  ...\n```\n").count(), 20);
    assert!(markdown.contains("Further denied or rejected writes: 5."));
}

#[test]
fn empty_recording_has_its_own_headline() {
    let report = report("acme.io/runner", &[]);
    assert_eq!(report.headline(), "status: no writes recorded");
    assert!(report.conforms_to.is_empty());
}

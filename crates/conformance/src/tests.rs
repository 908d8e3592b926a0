//! Tests reports on the recordings of real controllers, and on constructed writes.

use managed_by::{AdmissionRequest, Release, ReleaseSet, Settings};
use managed_by_parity::trace;
use serde_json::{Value, json};

use super::builder::ReportBuilder;
use super::report::{ConformanceOutcome, ConformanceReport, RuleResult};
use super::writes::WriteLocation;

fn builder(controller: &str) -> ReportBuilder<'static> {
    ReportBuilder::new(controller, &Settings::default())
}

fn add(builder: &mut ReportBuilder<'_>, request: &Value, location: &WriteLocation) {
    let json = request.to_string();
    let parsed = AdmissionRequest::from_json(json.as_bytes()).unwrap();
    let identity = request["name"].as_str().unwrap();
    builder.add(&parsed, request, identity, location).unwrap();
}

fn report(controller: &str, requests: &[Value]) -> ConformanceReport {
    report_from(builder(controller), requests)
}

fn report_from(mut builder: ReportBuilder<'_>, requests: &[Value]) -> ConformanceReport {
    for (line, request) in (1..).zip(requests) {
        let location = WriteLocation {
            source: "watch.ndjson".to_owned(),
            line,
            time: None,
        };
        add(&mut builder, request, &location);
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
    let without_start_time = result(&report, "job-status/finished-without-start-time");
    assert_eq!(without_start_time.results[1].denied, 1);
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
    for (stream, writes, untested, result) in [
        (
            "multikueue-0.14-hub",
            45,
            "job-status/invalid-failed-indexes",
            "conforms to 1.31 to 1.35, 1.36.2 to 1.37 (Core, Indexed, Mirror)",
        ),
        (
            "multikueue-0.18-hub",
            349,
            "job-status/completion-time-changed",
            "conforms to 1.31 to 1.35, 1.36.2 to 1.37 \
             (Core, Indexed, BackoffLimitPerIndex, SuccessPolicy, Mirror)",
        ),
    ] {
        let report = report("kueue.x-k8s.io/multikueue", &recorded(stream));
        assert_eq!(
            report.headline(),
            format!("status denied by 1.30, 1.36.0 to 1.36.1, {result}")
        );
        assert_eq!(report.writes, writes, "{stream}");
        let rules: Vec<_> = report.untested_rules().map(|rule| rule.rule).collect();
        assert!(rules.contains(&untested), "{stream}: {rules:?}");
    }
}

/// A report since a release has the same results as the full report for this release and newer ones.
#[test]
fn report_since_a_release_omits_older_releases() {
    let requests = recorded("multikueue-0.14-hub");
    let recording = || builder("kueue.x-k8s.io/multikueue");
    let all = report_from(recording(), &requests);
    let releases = ReleaseSet::from_iter([Release::V1_36, Release::V1_37]);
    let since = report_from(recording().releases(releases), &requests);
    assert_eq!((since.releases, since.conforms_to), (releases, releases));
    assert_eq!(since.denied_objects, []);
    assert_eq!(since.rules.len(), all.rules.len());
    for (some, all) in since.rules.iter().zip(&all.rules) {
        assert_eq!(some.results, all.results[12..], "{some:?}");
    }
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

#[test]
fn denied_write_is_shown_with_its_change() {
    let report = report("acme.io/runner", &[denied_write()]);
    assert_eq!(
        report.headline(),
        "status denied by 1.30 to 1.37, incomplete (Core)"
    );
    assert_eq!(
        (report.denied_writes, report.denied_by),
        (1, ReleaseSet::all())
    );
    let [denied] = &report.denied_objects[..] else {
        panic!("{report:?}")
    };
    assert_eq!(denied.object, "Job.batch a/<pi>");
    let write = &denied.writes[0];
    assert_eq!(write.denials[0].releases, ReleaseSet::all());
    let change = &write.change;
    assert_eq!(
        (change.field, &change.after["failed"]),
        ("status", &json!(1))
    );
    let data = serde_json::to_value(&report).unwrap();
    assert_eq!(data["format"], 1);
}

/// The result leads with the releases that deny, and the rules that deny precede the others.
#[test]
fn denials_come_first() {
    let report = report(
        "kueue.x-k8s.io/multikueue",
        &recorded("multikueue-0.14-hub"),
    );
    let rule = "job-status/success-criteria-met-non-indexed";
    assert_ne!(report.rules[1].rule, rule);
    assert_eq!(report.rules_denied_first().nth(1).unwrap().rule, rule);
    let headline = report.headline();
    let markdown = report.markdown();
    let position = |part: &str| markdown.find(part).unwrap();
    let denied = position(rule);
    assert!(position(&headline) < denied);
    assert!(denied < position(report.rules[1].rule));
}

#[test]
fn markdown_shows_denied_writes_as_a_diff() {
    let mut write = denied_write();
    for object in ["object", "oldObject"] {
        write[object]["metadata"]["name"] = json!("`<pi>`\n# x");
        write[object]["status"]["conditions"] =
            json!([{"type": "A", "status": "True", "reason": "```", "message": "x".repeat(300)}]);
    }
    let report = report_from(
        builder("acme.io/runner")
            .generated_at("2026-01-02T03:04:05Z")
            .recordings(["watch.ndjson"]),
        &[write],
    );
    let markdown = report.markdown();
    let (_, change) = markdown.split_once("```diff\n").unwrap();
    let (change, rest) = change.split_once("\n```\n").unwrap();
    let changed: Vec<_> = change
        .lines()
        .filter(|line| !line.starts_with([' ', '@']))
        .collect();
    assert_eq!(changed, ["-  failed: 2", "+  failed: 1"]);
    assert!(change.lines().all(|line| line.len() < 210), "{change}");
    // A name with a backtick and a line break becomes inline code in one line.
    assert!(
        markdown.contains("\n``Job.batch a/`<pi>`\\n# x`` status updated, "),
        "{markdown}"
    );
    let version = env!("CARGO_PKG_VERSION");
    let footer =
        format!("Generated by managed-by {version} at 2026-01-02T03:04:05Z from `watch.ndjson`.\n");
    assert!(rest.ends_with(&footer), "{rest}");
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

/// The path of one counter is a prefix of the other's path.
#[test]
fn counters_with_a_common_prefix_are_reported_separately() {
    let job_set = |restarts: u32| {
        json!({"metadata": {"name": "pi"}, "spec": {},
            "status": {"restarts": restarts, "restartsCountTowardsMax": restarts}})
    };
    let request = json!({
        "kind": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"}, "name": "pi",
        "operation": "UPDATE", "subResource": "status", "oldObject": job_set(2), "object": job_set(1),
    });
    let settings = br#"{"rules":{"status/counter-decreased":"deny"}}"#;
    let settings = Settings::from_json(settings).unwrap();
    let mut builder = ReportBuilder::new("jobset.sigs.k8s.io/jobset-controller", &settings);
    add(&mut builder, &request, &WriteLocation::default());
    let report = builder.finish(|_| false);
    let denials = &report.denied_objects[0].writes[0].denials;
    let messages: Vec<_> = denials.iter().map(|denial| &*denial.message).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].starts_with("status.restarts: "));
    assert!(messages[1].starts_with("status.restartsCountTowardsMax: "));
}

/// The settings declare the kind as in the reference of the settings.
#[test]
fn custom_kind_is_reported() {
    let settings =
        br#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows"}]}"#;
    let settings = Settings::from_json(settings).unwrap();
    let mut builder = ReportBuilder::new("acme.io/other", &settings);
    let object = json!({"metadata": {"name": "s", "namespace": "a"}, "spec": {"managedBy": "acme.io/other"}});
    let request = json!({"operation": "CREATE", "namespace": "a", "name": "s",
        "kind": {"group": "argoproj.io", "version": "v1alpha1", "kind": "Workflow"}, "object": object});
    add(&mut builder, &request, &WriteLocation::default());
    let report = builder.finish(|_| false);
    assert_eq!((report.writes, report.objects), (1, 1));
}

#[test]
fn empty_recording_has_its_own_headline() {
    let report = report("acme.io/runner", &[]);
    assert_eq!(report.headline(), "status: no writes recorded");
    assert!(report.conforms_to.is_empty());
}

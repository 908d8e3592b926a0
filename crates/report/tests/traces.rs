//! Reports on recorded controllers, and on recordings with added mistakes.

#![expect(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use managed_by::{AdmissionRequest, Release, Settings};
use managed_by_parity::trace;
use managed_by_report::{Report, ReportBuilder, State, WriteLocation};
use serde_json::{Value, json};

fn add(builder: &mut ReportBuilder<'_>, request: &Value, location: &WriteLocation) {
    let json = request.to_string();
    let parsed = AdmissionRequest::from_json(json.as_bytes()).unwrap();
    builder.add(&parsed, request, location);
}

fn report(controller: &str, requests: &[Value]) -> Report {
    report_of(ReportBuilder::new(controller), requests)
}

fn report_of(mut builder: ReportBuilder<'_>, requests: &[Value]) -> Report {
    for (index, request) in requests.iter().enumerate() {
        let location = WriteLocation {
            source: "watch.ndjson".to_owned(),
            line: index as u64 + 1,
            time: None,
        };
        add(&mut builder, request, &location);
    }
    builder.finish()
}

fn recorded(stream: &str) -> Vec<Value> {
    let requests = trace::requests(stream).unwrap().into_iter();
    requests.map(|case| case.request()).collect()
}

#[test]
fn job_controller_conforms_since_1_32() {
    let report = report("kubernetes.io/job-controller", &recorded("jobs-1.36"));
    // 1.31 denies a suspended Job without completions, and 1.30 its success criteria, see `docs/explanation/parity.md`.
    assert_eq!(report.badge_text(), "status conforms to 1.32 to 1.37");
    let state = |rule: &str| report.row(rule).unwrap().cells[7].state;
    assert_eq!(state("job-status/finished-with-active-pods"), State::Passed);
    assert_eq!(
        state("job-status/success-criteria-met-non-indexed"),
        State::NotInRelease
    );
    assert_eq!(
        report
            .row("job-status/finished-without-start-time")
            .unwrap()
            .cells[1]
            .denied,
        1
    );
    assert!(report.other_controllers > 0);
    // No template of a suspended Job changes. Writes exercise the other rules if a counter could decrease, or if they count pods of
    // a Job without index lists.
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
        let cell = report.row(rule).unwrap().cells[7];
        assert_eq!(cell.exercised, writes, "{rule}");
    }
}

/// All writes are accepted, and rules without a matching write are untested.
#[test]
fn multikueue_conforms_with_untested_rules() {
    for (stream, writes, untested) in [
        (
            "multikueue-0.14-hub",
            45,
            "job-status/invalid-failed-indexes",
        ),
        (
            "multikueue-0.18-hub",
            349,
            "job-status/completion-time-changed",
        ),
    ] {
        let report = report("kueue.x-k8s.io/multikueue", &recorded(stream));
        assert_eq!(report.badge_text(), "status conforms to 1.31 to 1.37");
        assert_eq!(report.writes, writes, "{stream}");
        let rules: Vec<_> = report.untested().map(|row| row.rule).collect();
        assert!(rules.contains(&untested), "{stream}: {rules:?}");
        let page = report.html();
        assert!(page.contains("untested") && page.contains("This is not a pass"));
    }
}

/// A report since a release has the same cells as the full report for this release and newer ones.
#[test]
fn report_since_a_release_omits_older_releases() {
    let requests = recorded("multikueue-0.14-hub");
    let recording = || ReportBuilder::new("kueue.x-k8s.io/multikueue");
    let all = report_of(recording(), &requests);
    let since = report_of(recording().since(Release::V1_36), &requests);
    assert_eq!(since.releases, ["1.36", "1.37"]);
    assert_eq!(since.conforms_to, ["1.36", "1.37"]);
    assert_eq!(since.timelines, []);
    assert_eq!(since.rows.len(), all.rows.len());
    for (some, all) in since.rows.iter().zip(&all.rows) {
        assert_eq!(some.cells, all.cells[6..], "{some:?}");
    }
}

/// On the worker cluster the Jobs are not delegated, so the Job controller reconciles them.
#[test]
fn job_controller_of_multikueue_worker_conforms() {
    let report = report(
        "kubernetes.io/job-controller",
        &recorded("multikueue-0.18-worker"),
    );
    assert_eq!(report.badge_text(), "status conforms to 1.31 to 1.37");
    assert_eq!((report.writes, report.objects), (156, 27));
    assert!(report.other_controllers > 0, "JobSets");
}

fn push_denied_write(requests: &mut Vec<Value>) {
    let mut last = requests.last().unwrap().clone();
    last["oldObject"] = json!({"metadata": {"name": "<pi>", "namespace": "a"}, "spec": {"managedBy": "acme.io/runner"},
        "status": {"startTime": "2026-01-01T00:00:00Z", "failed": 2}});
    last["object"] = last["oldObject"].clone();
    last["object"]["status"]["failed"] = json!(1);
    last["namespace"] = json!("a");
    last["operation"] = json!("UPDATE");
    last["subResource"] = json!("status");
    last["kind"] = json!({"group": "batch", "version": "v1", "kind": "Job"});
    requests.push(last);
}

#[test]
fn denied_write_is_shown_with_both_states() {
    let mut requests = recorded("jobs-1.36");
    requests.truncate(1);
    push_denied_write(&mut requests);
    let report = report("acme.io/runner", &requests);
    assert_eq!(report.badge_text(), "status conforms to no release");
    let [timeline] = &report.timelines[..] else {
        panic!("{report:?}")
    };
    assert_eq!(timeline.object, "Job.batch a/<pi>");
    let step = &timeline.steps[0];
    assert_eq!(step.denials[0].releases, "1.30 to 1.37");
    let (before, after) = step.before_and_after.as_ref().unwrap();
    assert!(before.contains("\"failed\": 2") && after.contains("\"failed\": 1"));
    let page = report.html();
    assert!(page.contains("Job.batch a/&lt;pi&gt;") && !page.contains("<pi>"));
    assert!(page.contains("docs/rules/job-status/failed-decreased.md"));
    // The page loads no external resources. It contains only links.
    for source in ["<script", "<link", "src=", "@import", "url("] {
        assert!(!page.contains(source), "{source}");
    }
    let data = serde_json::to_value(&report).unwrap();
    assert_eq!(data["format"], 1);
    assert!(report.badge().unwrap().starts_with("<svg"));
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
    let mut builder =
        ReportBuilder::with_settings("jobset.sigs.k8s.io/jobset-controller", &settings);
    add(&mut builder, &request, &WriteLocation::default());
    let report = builder.finish();
    let denials = &report.timelines[0].steps[0].denials;
    let texts: Vec<_> = denials.iter().map(|d| (d.rule, &*d.text)).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].1.starts_with("status.restarts: "), "{texts:?}");
    assert!(
        texts[1].1.starts_with("status.restartsCountTowardsMax: "),
        "{texts:?}"
    );
}

/// The settings declare the kind as in `docs/reference/settings.md`.
#[test]
fn custom_kind_is_reported() {
    let settings =
        br#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows"}]}"#;
    let settings = Settings::from_json(settings).unwrap();
    let mut builder = ReportBuilder::with_settings("acme.io/other", &settings);
    let object = json!({"metadata": {"name": "s", "namespace": "a"}, "spec": {"managedBy": "acme.io/other"}});
    let request = json!({"operation": "CREATE", "namespace": "a", "name": "s",
        "kind": {"group": "argoproj.io", "version": "v1alpha1", "kind": "Workflow"}, "object": object});
    add(&mut builder, &request, &WriteLocation::default());
    let report = builder.finish();
    assert_eq!((report.writes, report.objects), (1, 1));
}

#[test]
fn empty_recording_has_its_own_badge_text() {
    let report = report("acme.io/runner", &[]);
    assert_eq!(report.badge_text(), "status: no write recorded");
    assert_eq!(report.conforms_to, [""; 0]);
}

//! Every release asked at once: nothing of what one of them finds is lost, and each format says which releases find it.

use serde_json::{Value, json};
use xtask::root;

use crate::support::{run, run_in};

fn results(ran: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(ran).unwrap();
    document["results"].as_array().unwrap().clone()
}

/// One rule finds three things at one path: two that are invalid, and that the value is too long.
#[test]
fn several_findings_of_a_rule_at_one_path_stay_apart() {
    let value = format!("Foo.example.com/{} y", "x".repeat(70));
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi"}, "spec": {"managedBy": value},
    });
    let found = |release: &str| -> Vec<(String, String)> {
        let args = ["lint", "-o", "json", "--kubernetes", release, "-"];
        let results = results(&run(&args, job.to_string().as_bytes()).out);
        let findings = results[0]["findings"].as_array().unwrap();
        let denials = findings
            .iter()
            .filter(|found| found["enforcement"] == "deny");
        let text = |found: &Value, key: &str| found[key].as_str().unwrap().to_owned();
        denials
            .map(|f| (text(f, "type"), text(f, "text")))
            .collect()
    };
    let newest = found("1.37");
    let types: Vec<_> = newest.iter().map(|(error_type, _)| &**error_type).collect();
    assert_eq!(types, ["Invalid value", "Invalid value", "Too long"]);
    for (error_type, text) in &newest {
        assert!(text.contains(error_type), "{text}");
    }
    assert_eq!(found("1.36"), newest);
    assert_eq!(found("all"), newest);
}

/// A status update that every release denies for one thing, and 1.30 for two more.
fn status_update() -> Vec<u8> {
    let job = |status: Value| json!({"metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner"}, "status": status});
    json!({
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "UPDATE", "subResource": "status",
        "oldObject": job(json!({"failed": 2})),
        "object": job(json!({"failed": 1, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]})),
    })
    .to_string()
    .into_bytes()
}

fn review(format: &str, release: &str) -> String {
    let args = ["review", "-o", format, "--kubernetes", release, "-"];
    run(&args, &status_update()).out
}

#[test]
fn the_message_tells_what_older_releases_find() {
    let message = |release: &str| -> String {
        let answer: Value = serde_json::from_str(&review("json", release)).unwrap();
        let message = answer["response"]["status"]["message"].as_str();
        message.unwrap().to_owned()
    };
    let newest = message("1.37");
    let (envelope, decreased) = newest.split_once("is invalid: ").unwrap();
    assert!(decreased.starts_with("status.failed: "), "{newest}");
    let all = message("all");
    assert!(
        all.starts_with(&format!("{envelope}is invalid: [")),
        "{all}"
    );
    assert!(all.contains(decreased), "{all}");
    assert!(all.contains("status.conditions: "), "{all}");
}

#[test]
fn formats_for_machines_say_which_releases_deny() {
    for format in ["sarif", "junit", "github", "text"] {
        let told = review(format, "all");
        let count = told
            .matches("accepted from 1.31 on, denied by 1.30")
            .count();
        assert_eq!(count, 2, "{format}: {told}");
    }
}

/// What a range of releases says is what each of its releases says alone, and no other one is named.
#[test]
fn a_range_asks_its_releases_and_no_other() {
    let folder = root("examples/manifests");
    let ask = |range: &str| {
        let files = ["stored.yaml", "finished.yaml"];
        let args = [
            &["diff", "--status", "-o", "json", "--kubernetes", range][..],
            &files,
        ]
        .concat();
        let ran = run_in(&folder, &args, b"");
        (ran.code, results(&ran.out)[0]["releases"].clone())
    };
    for (range, code, accepted, denied) in [
        ("1.30-1.30", 0, &["1.30"][..], &[][..]),
        ("1.30-1.32", 1, &["1.30"], &["1.31", "1.32"]),
        ("v1.35.2+", 1, &[], &["1.35", "1.36", "1.37"]),
        ("1.37+", 1, &[], &["1.37"]),
    ] {
        let expected = json!({"accepted": accepted, "denied": denied});
        assert_eq!(ask(range), (code, expected), "{range}");
    }
    for (range, expected) in [
        ("1.33-1.31", "1.31 is before 1.33"),
        (
            "1.29+",
            "expected a release from 1.30 to 1.37, a range such as 1.31-1.33 or 1.31+, or all",
        ),
        (
            "1.31-",
            "expected a release from 1.30 to 1.37, a range such as 1.31-1.33 or 1.31+, or all",
        ),
    ] {
        let ran = run(&["lint", "--kubernetes", range, "-"], b"");
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}

/// A report since a release has no other one, and its cells are those of the whole report.
#[test]
fn a_report_since_a_release_leaves_older_ones_out() {
    let report = |more: &[&str]| -> Value {
        let trace = "conformance/traces/multikueue-0.14-hub.ndjson";
        let controller = "kueue.x-k8s.io/multikueue";
        let args = [
            &[
                "conformance",
                trace,
                "--controller",
                controller,
                "-o",
                "json",
            ][..],
            more,
        ]
        .concat();
        serde_json::from_str(&run(&args, b"").out).unwrap()
    };
    let all = report(&[]);
    let since = report(&["--since", "1.36"]);
    assert_eq!(since["releases"], json!(["1.36", "1.37"]));
    assert_eq!(since["conformsTo"], json!(["1.36", "1.37"]));
    assert_eq!(since["timelines"], json!([]));
    let rows = |report: &Value| report["rows"].as_array().unwrap().clone();
    for (some, all) in rows(&since).iter().zip(rows(&all)) {
        let cells = all["cells"].as_array().unwrap();
        assert_eq!(some["cells"].as_array().unwrap()[..], cells[6..], "{some}");
    }
    assert_eq!(rows(&since).len(), rows(&all).len());
}

/// kube-apiserver passes on 4,096 bytes of warnings in all, however many releases are asked.
#[test]
fn warnings_of_several_releases_are_as_few_as_those_of_one() {
    let job = |status: Value| json!({"metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner", "completions": 2, "parallelism": 2}, "status": status});
    let old = json!({
        "startTime": "2026-01-01T00:00:00Z", "failed": 3, "succeeded": 3, "active": 1, "conditions": [{"type": "Failed", "status": "True"}],
    });
    let new = json!({
        "startTime": "2026-01-02T00:00:00Z", "completionTime": "2025-01-01T00:00:00Z", "failed": -1, "succeeded": -1, "active": -1, "ready": -5,
        "terminating": -2, "completedIndexes": "3,1,x", "failedIndexes": "1,x",
        "uncountedTerminatedPods": {"succeeded": ["a", "a", ""], "failed": ["a", "b", "b", ""]},
        "conditions": [{"type": "Complete", "status": "True"}, {"type": "SuccessCriteriaMet", "status": "True"}, {"type": "FailureTarget", "status": "True"}],
    });
    let request = json!({
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "UPDATE", "subResource": "status",
        "oldObject": job(old), "object": job(new),
    });
    let ids = managed_by::rules().iter().map(|rule| rule.id());
    let warn: Vec<String> = ids
        .filter(|id| id.starts_with("job-status/"))
        .map(|id| format!("--rule={id}=warn"))
        .collect();
    let warnings = |release: &str| -> Vec<Value> {
        let mut args = vec!["review", "-o", "json", "--kubernetes", release];
        args.extend(warn.iter().map(|arg| &**arg));
        let answer: Value =
            serde_json::from_str(&run(&args, request.to_string().as_bytes()).out).unwrap();
        answer["response"]["warnings"].as_array().unwrap().clone()
    };
    let oldest = warnings("1.30");
    assert_eq!((oldest.len(), warnings("1.37").len()), (15, 15));
    let all = warnings("all");
    assert_eq!(all[..15], oldest);
    assert_eq!(all.len(), 16);
}

/// While its feature is off, a release drops the field before it asks a policy: only Jobs, only where they are created.
#[test]
fn a_release_that_drops_the_field_by_default_is_named() {
    let manifest = |kind: &str, spec: Value| {
        json!({"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "pi"}, "spec": spec})
            .to_string()
    };
    let delegated = manifest("Job", json!({"managedBy": "acme.io/runner"}));
    let plain = manifest("Job", json!({}));
    let template =
        json!({"jobTemplate": {"metadata": {}, "spec": {"managedBy": "acme.io/runner"}}});
    let cron = manifest("CronJob", template);
    let older = json!(["1.30", "1.31"]);
    for (stdin, release, expected) in [
        (&delegated, "all", Some(older.clone())),
        (&delegated, "1.30", Some(json!(["1.30"]))),
        (&delegated, "1.31+", Some(json!(["1.31"]))),
        (&delegated, "1.32+", None),
        (&delegated, "1.36", None),
        (&plain, "all", None),
        (&cron, "all", None),
    ] {
        let args = ["lint", "-o", "json", "--kubernetes", release];
        let result = results(&run(&args, stdin.as_bytes()).out).remove(0);
        assert_eq!(
            result.get("droppedBy"),
            expected.as_ref(),
            "{release} {stdin}"
        );
    }
    let two = format!("{delegated}\n{delegated}");
    let ran = run(&["lint", "--kubernetes", "all"], two.as_bytes());
    assert_eq!(
        (ran.code, &*ran.err),
        (
            0,
            "note: stdin:1: kube-apiserver 1.30 to 1.31 drops spec.managedBy unless the feature JobManagedBy is on: the Job is \
             not delegated, and no policy sees it (2 times)\n2 objects judged: 0 denied, 0 with warnings\n"
        )
    );
}

//! Checks `managed-by status` with an API server in memory that serves a recording.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use managed_by_testing::cluster::{StubCluster, Write};
use managed_by_testing::root;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::formats::{CLI_SCHEMA, check};
use crate::support::RunOutput;

const JOBSETS: &str = "/apis/jobset.x-k8s.io/v1alpha2/jobsets";

fn run(cluster: &StubCluster, args: &[&str]) -> RunOutput {
    run_and_record(cluster, args).0
}

/// Runs the program with a cluster, and returns the requests that write. In the arguments, replaces `SERVER` by the address.
fn run_and_record(cluster: &StubCluster, args: &[&str]) -> (RunOutput, Vec<Write>) {
    let directory = TempDir::new().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let (output, writes) = cluster.serve(|address| {
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a", "clusters": [{"name": "a", "cluster": {"server": format!("http://{address}")}}, {"name": "b", "cluster": {"server": address}}],
            "users": [{"name": "a", "user": {"token": "a\n"}}], "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "team-mk"}}, {"name": "b", "context": {"cluster": "b", "user": "a"}}]});
        fs::write(&kubeconfig, config.to_string()).unwrap();
        Command::new(env!("CARGO_BIN_EXE_managed-by"))
            .args(["status", "--no-config"])
            .args(args.iter().map(|arg| arg.replace("SERVER", address)))
            // Like kubectl, it ignores a missing file of a list.
            .env("KUBECONFIG", env::join_paths([Path::new("/missing"), &*kubeconfig]).unwrap())
            .env_remove("http_proxy")
            .env_remove("HTTP_PROXY")
            .output()
            .unwrap()
    });
    (RunOutput::new(output), writes)
}

/// Runs the program with `-A -o json`, and returns the code and the report.
fn report(cluster: &StubCluster) -> (i32, Value) {
    let output = run(cluster, &["-A", "-o", "json"]);
    let report = serde_json::from_str(&output.out).unwrap();
    check(&CLI_SCHEMA, &report);
    (output.code, report)
}

#[test]
fn all_formats_show_all_pages() {
    let cluster = StubCluster::recorded();
    let (code, report) = report(&cluster);
    assert_eq!(code, 1);
    let summary = json!({"workloads": 18, "orphaned": 6, "stalled": 0, "contradicting": 0, "foreign-writer": 0, "unchecked": 0, "healthy": 9, "finished": 3});
    assert_eq!(report["summary"], summary);
    let yaml = run(&cluster, &["-A", "-o", "yaml"]);
    let yaml: Value = serde_yaml_ng::from_str(&yaml.out).unwrap();
    assert_eq!(yaml["summary"], summary);
    let json = run(&cluster, &["-A", "--problems", "-o", "json"]).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["objects"].as_array().unwrap().len(), 6);
    let wide = run(&cluster, &["-A", "-o", "wide"]).out;
    assert!(wide.contains("kubectl patch -n team-mk jobs.batch/a-noqueue --type=merge -p '{"));
    let markdown = run(&cluster, &["-A", "-o", "markdown"]).out;
    assert_eq!(markdown.matches("| `Job team-mk/").count(), 5);
}

#[test]
fn the_page_shows_the_output() {
    let page = fs::read_to_string(root("docs/tasks/find-orphans.md")).unwrap();
    let cluster = StubCluster::recorded();
    let blocks: Vec<_> = page.split("   $ managed-by status ").skip(1).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let (args, rest) = block.split_once('\n').unwrap();
        let (shown, _) = rest.split_once("   ```").unwrap();
        let RunOutput { out, err, .. } = run(&cluster, &args.split(' ').collect::<Vec<_>>());
        let printed: Vec<_> = out.lines().chain(err.lines()).collect();
        let shown: Vec<_> = shown.lines().map(str::trim_start).collect();
        assert_eq!(shown, printed, "{args}");
    }
}

#[test]
fn wrong_names_are_errors() {
    let cluster = StubCluster::recorded();
    for (argument, message) in [
        ("job/none", "jobs.batch \"none\" not found"),
        ("jobb/pi", "unknown kind jobb; did you mean \"jobs\"?"),
        ("job.batch/none", "jobs.batch \"none\" not found"),
        ("job/a/..", "jobs.batch \"a/..\" not found"),
        ("mpijob", "the cluster does not serve mpijob"),
    ] {
        let RunOutput { code, err, .. } = run(&cluster, &[argument]);
        assert_eq!((code, err), (2, format!("error: {message}\n")));
    }
}

#[test]
fn what_cannot_be_read_is_listed() {
    let mut cluster = StubCluster::recorded();
    let metadata = json!({"namespace": "team-a", "name": "pi"});
    let malformed = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"managedBy": 5}});
    cluster.add("batch/v1/jobs", malformed);
    let (code, json) = report(&cluster);
    assert_eq!((code, &json["summary"]["workloads"]), (2, &json!(18)));
    let reason = "spec.managedBy: expected a string, got a number";
    let malformed =
        json!({"resource": "jobs.batch team-a/pi", "reason": reason, "workloads": true});
    assert_eq!(json["unchecked"][0], malformed);
    cluster.fail(JOBSETS, 403);
    let (code, json) = report(&cluster);
    let forbidden =
        json!({"resource": "jobsets.jobset.x-k8s.io", "reason": "forbidden", "workloads": true});
    let reason = "none is known of acme.io/runner: a status that stays as it is may have lost its controller";
    let lease =
        json!({"resource": "leases.coordination.k8s.io", "reason": reason, "workloads": false});
    let unchecked = json!([malformed, forbidden, lease]);
    assert_eq!((code, &json["unchecked"]), (2, &unchecked));
}

#[test]
fn errors_name_the_context_and_the_server() {
    let mut cluster = StubCluster::recorded();
    cluster.fail("/version", 401);
    for (context, server, text) in [
        ("a", "http://127.0.0.1:", "/: code 401\n"),
        ("b", "127.0.0.1:", "that starts with https://\n"),
    ] {
        let RunOutput { code, err, .. } = run(&cluster, &["--context", context]);
        assert_eq!(code, 2, "{err}");
        let begin = format!("error: context {context}: {server}");
        assert!(err.starts_with(&begin) && err.ends_with(text), "{err}");
    }
}

#[test]
fn a_cluster_without_workloads_is_empty() {
    let mut cluster = StubCluster::recorded();
    cluster.objects.retain(|path, _| path == "batch/v1/jobs");
    cluster.objects.values_mut().for_each(Vec::clear);
    let RunOutput { code, err, .. } = run(&cluster, &["-A"]);
    assert_eq!((code, &*err), (3, "0 workloads\n"));
    assert_eq!(run(&cluster, &["-A", "--allow-empty"]).code, 0);
}

#[test]
fn problems_become_reports() {
    const REPORTS: &str = "openreports.io/v1alpha1/reports";
    let args = ["-A", "--reports"];
    let mut cluster = StubCluster::recorded();
    let RunOutput { code, err, .. } = run(&cluster, &args);
    assert_eq!(code, 2, "{err}");
    assert!(err.ends_with("error: the cluster serves neither reports.openreports.io nor policyreports.wgpolicyk8s.io\n"), "{err}");

    let scope = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "gone"});
    let metadata = json!({"namespace": "team-a", "name": "managed-by-gone"});
    cluster.add(REPORTS, json!({"metadata": metadata, "scope": scope}));
    let (output, mut writes) = run_and_record(&cluster, &args);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(writes.len(), 7, "{writes:?}");
    let path = |namespace: &str, uid: &str| {
        format!("/apis/openreports.io/v1alpha1/namespaces/{namespace}/reports/managed-by-{uid}")
    };
    let delete = format!("DELETE {}", path("team-a", "gone"));
    writes.retain(|(request, _)| *request != delete);
    let (request, report) = writes
        .iter()
        .find(|(_, report)| report["scope"]["name"] == "a-noqueue")
        .unwrap();
    let uid = report["scope"]["uid"].as_str().unwrap();
    let path = path("team-mk", uid);
    assert_eq!(request, &format!("PATCH {path}"));
    let result = &report["results"][0];
    assert_eq!(
        [&result["rule"], &result["result"], &result["message"]],
        [
            "orphaned",
            "fail",
            "no label kueue.x-k8s.io/queue-name, so Kueue ignores it"
        ]
    );
    assert_eq!(report["metadata"]["ownerReferences"][0]["uid"], uid);
    assert_eq!(writes.len(), 6);

    // A namespace that is being deleted.
    let mut terminating = cluster.clone();
    terminating.fail(&path, 403);
    let (RunOutput { code, err, .. }, writes) = run_and_record(&terminating, &args);
    assert_eq!((code, writes.len()), (2, 7), "{writes:?}");
    let error = "error: reports.openreports.io in team-mk: forbidden\n";
    assert!(err.ends_with(error), "{err}");

    // The report may be about a workload that could not be read.
    let metadata = json!({"namespace": "team-a", "name": "other"});
    let malformed = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": {"managedBy": 5}});
    cluster.add("jobset.x-k8s.io/v1alpha2/jobsets", malformed);
    let (_, writes) = run_and_record(&cluster, &args);
    assert!(writes.iter().any(|(request, _)| *request == delete));
    cluster.fail(JOBSETS, 403);
    let (output, writes) = run_and_record(&cluster, &args);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(writes.iter().all(|(request, _)| *request != delete));
}

#[test]
fn metrics_are_printed_and_pushed() {
    let cluster = StubCluster::recorded();
    let metrics = run(&cluster, &["-A", "-o", "metrics"]).out;
    for line in [
        "managed_by_objects{controller=\"kueue.x-k8s.io/multikueue\",kind=\"Job.batch\",verdict=\"orphaned\"} 4\n",
        // A user chooses this name.
        "managed_by_objects{controller=\"other\",kind=\"JobSet.jobset.x-k8s.io\",verdict=\"orphaned\"} 1\n",
        "managed_by_status_unread_resources 0\n",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let url = "http://SERVER/metrics/job/managed-by";
    let (output, writes) = run_and_record(&cluster, &["-A", "--push-metrics", url]);
    assert_eq!(output.code, 0, "{output:?}");
    let pushed = [("POST /metrics/job/managed-by".to_owned(), json!(metrics))];
    assert_eq!(writes, pushed);
}

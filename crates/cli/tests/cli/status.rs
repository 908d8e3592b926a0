//! Checks `managed-by status` with a stub of an API server that serves the recording in `src/status`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::formats::{CLI_SCHEMA, check};

const LEASES: &str = "/apis/coordination.k8s.io/v1/leases";
/// Shortly after the recording, because a workload that waits becomes stalled.
const NOW: &str = "Sat, 28 Nov 2026 06:15:00 GMT";
const KUEUE: &str = "/apis/kueue.x-k8s.io/v1beta2";

/// Responses by path, each with its code. A list is served in pages of two objects.
type Responses = BTreeMap<String, (u16, Value)>;

fn recording() -> Responses {
    let recorded: Value =
        serde_json::from_str(include_str!("../../../status/src/assessment/recorded.json")).unwrap();
    let group = |name: &str, version: &str| {
        let version = json!({"groupVersion": format!("{name}/{version}"), "version": version});
        json!({"name": name, "versions": [version], "preferredVersion": version})
    };
    let groups = [
        group("batch", "v1"),
        group("jobset.x-k8s.io", "v1alpha2"),
        group("kueue.x-k8s.io", "v1beta2"),
    ];
    let resources = |group_version: &str, name: &str, kind: &str| {
        json!({"kind": "APIResourceList", "groupVersion": group_version,
            "resources": [{"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list"]}]})
    };
    let list = |kind: &str, items: &Value| json!({"kind": kind, "apiVersion": "v1", "metadata": {}, "items": items});
    let ok = |path: &str, value: Value| (path.to_owned(), (200, value));
    let mut responses: Responses = [
        ok("/version", json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "", "buildDate": "",
            "goVersion": "", "compiler": "", "platform": ""})),
        ok("/apis", json!({"kind": "APIGroupList", "groups": groups})),
        ok("/apis/batch/v1", resources("batch/v1", "jobs", "Job")),
        ok("/apis/jobset.x-k8s.io/v1alpha2", resources("jobset.x-k8s.io/v1alpha2", "jobsets", "JobSet")),
        ok("/apis/batch/v1/jobs", list("JobList", &recorded["jobs"])),
        ok("/apis/jobset.x-k8s.io/v1alpha2/jobsets", list("JobSetList", &recorded["jobsets"])),
    ]
    .into();
    responses.extend([ok(
        "/apis/batch/v1/namespaces/team-mk/jobs",
        list("JobList", &recorded["jobs"]),
    )]);
    let time = "2099-01-01T00:00:00Z";
    let leases = [
        ("kube-system", "kube-controller-manager"),
        ("kueue-system", "c1f6bfd2.kueue.x-k8s.io"),
        ("jobset-system", "6d4f6a47.jobset.x-k8s.io"),
    ]
    .map(|(namespace, name)| json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"renewTime": time}}));
    responses.extend([ok(LEASES, list("LeaseList", &json!(leases)))]);
    for resource in [
        "multikueueclusters",
        "multikueueconfigs",
        "admissionchecks",
        "clusterqueues",
        "localqueues",
        "workloads",
    ] {
        let items = list("List", &recorded[resource]);
        responses.extend([
            ok(&format!("{KUEUE}/{resource}"), items.clone()),
            ok(&format!("{KUEUE}/namespaces/team-mk/{resource}"), items),
        ]);
    }
    responses
}

/// Runs the program with a server.
fn run(responses: &Responses, args: &[&str]) -> Output {
    run_and_record(responses, args).0
}

/// A request that writes: `PATCH /apis/...`, and its body.
type Write = (String, Value);

/// Runs the program with a server, and returns the requests that write. In the arguments, replaces `SERVER` by the address.
fn run_and_record(responses: &Responses, args: &[&str]) -> (Output, Vec<Write>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let directory = TempDir::new().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a", "clusters": [{"name": "a", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "a", "user": {}}], "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "team-mk"}}]});
    fs::write(&kubeconfig, config.to_string()).unwrap();
    let args = args
        .iter()
        .map(|arg| arg.replace("SERVER", &address.to_string()));
    let (is_done, writes) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            for connection in listener.incoming() {
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
                let connection = connection.unwrap();
                scope.spawn(|| serve(connection, responses, &writes));
            }
        });
        let output = Command::new(env!("CARGO_BIN_EXE_managed-by"))
            .args(["status", "--no-config"])
            .args(args)
            .env("KUBECONFIG", kubeconfig)
            .env_remove("http_proxy")
            .env_remove("HTTP_PROXY")
            .output()
            .unwrap();
        is_done.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(address));
        output
    });
    (output, writes.into_inner().unwrap())
}

fn serve(connection: TcpStream, responses: &Responses, writes: &Mutex<Vec<Write>>) {
    let mut stream = connection.try_clone().unwrap();
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
        let request = std::mem::take(&mut line);
        let mut length = 0;
        while reader.read_line(&mut line).is_ok() && line != "\r\n" {
            let header = std::mem::take(&mut line).to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        line.clear();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let (method, rest) = request.split_once(' ').unwrap();
        let target = rest.split(' ').next().unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let missing = (
            404,
            json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}),
        );
        let accepted = (200, json!({}));
        // A response to a write has a key with the method.
        let (key, default) = if method == "GET" {
            (path.to_owned(), &missing)
        } else {
            let text = String::from_utf8(body).unwrap();
            let body = serde_json::from_str(&text).unwrap_or(Value::from(text));
            let request = format!("{method} {path}");
            writes.lock().unwrap().push((request.clone(), body));
            (request, &accepted)
        };
        let (code, response) = responses.get(&key).unwrap_or(default);
        let body = page(response.clone(), query).to_string();
        let head = format!(
            "HTTP/1.1 {code} -\r\ndate: {NOW}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

fn page(mut list: Value, query: &str) -> Value {
    if let Some(items) = list["items"].as_array_mut() {
        if let Some((_, name)) = query.split_once("fieldSelector=metadata.name%3D") {
            let name = name.split('&').next().unwrap();
            items.retain(|item| item["metadata"]["name"] == name);
        }
        let next = query
            .split_once("continue=")
            .map_or(0_usize, |(_, next)| next.parse().unwrap());
        items.drain(..next);
        if items.len() > 2 {
            items.truncate(2);
            list["metadata"]["continue"] = json!(next.saturating_add(2).to_string());
        }
    }
    list
}

fn forbid(responses: &mut Responses, path: &str) {
    let status = json!({"kind": "Status", "status": "Failure", "message": "forbidden", "reason": "Forbidden", "code": 403});
    responses.insert(path.to_owned(), (403, status));
}

fn text(output: &[u8]) -> &str {
    std::str::from_utf8(output).unwrap()
}

#[test]
fn all_formats_show_all_pages() {
    let responses = recording();
    let output = run(&responses, &["-A", "-o", "json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    check(&CLI_SCHEMA, &report);
    let summary = json!({"workloads": 18, "orphaned": 6, "stalled": 0, "contradicting": 0, "foreign-writer": 0, "unchecked": 0, "healthy": 9, "finished": 3});
    assert_eq!(report["summary"], summary);
    let yaml = run(&responses, &["-A", "-o", "yaml"]);
    let yaml: Value = serde_yaml_ng::from_slice(&yaml.stdout).unwrap();
    assert_eq!(yaml["summary"], summary);
    let table = run(&responses, &["-A", "--problems"]);
    let rows: Vec<_> = text(&table.stdout).lines().collect();
    assert_eq!(rows.len(), 7, "{rows:#?}");
    assert!(rows[0].ends_with("VERDICT    REASON"), "{rows:#?}");
    assert_eq!(
        text(&table.stderr),
        "18 workloads: 6 orphaned, 9 healthy, 3 finished\n"
    );
    let wide = run(&responses, &["-A", "-o", "wide"]);
    assert!(
        text(&wide.stdout)
            .contains("kubectl patch -n team-mk jobs.batch/a-noqueue --type=merge -p '{")
    );
    let markdown = run(&responses, &["-A", "-o", "markdown"]);
    assert_eq!(text(&markdown.stdout).matches("| `Job team-mk/").count(), 5);
}

#[test]
fn a_name_selects_one_workload() {
    let responses = recording();
    let output = run(&responses, &["job/running"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let tree = text(&output.stdout);
    assert!(
        tree.contains("\n└─ MultiKueueCluster w1   active\n"),
        "{tree}"
    );
    assert!(tree.ends_with("\nhealthy: on w1\n"), "{tree}");
    for (argument, message) in [
        ("job/none", "error: jobs.batch \"none\" not found\n"),
        (
            "jobb/pi",
            "error: unknown kind jobb; did you mean \"jobs\"?\n",
        ),
        ("job/..", "error: invalid name \"..\"\n"),
        ("job/a/b", "error: invalid name \"a/b\"\n"),
        ("mpijob", "error: the cluster does not serve mpijob\n"),
    ] {
        let output = run(&responses, &[argument]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(text(&output.stderr), message);
    }
}

#[test]
fn missing_permissions_are_reported() {
    let mut responses = recording();
    forbid(&mut responses, &format!("{KUEUE}/admissionchecks"));
    forbid(&mut responses, LEASES);
    let namespaced = |place| format!("/apis/coordination.k8s.io/v1/namespaces/{place}/leases/");
    forbid(
        &mut responses,
        &(namespaced("kueue-system") + "c1f6bfd2.kueue.x-k8s.io"),
    );
    // The verdict on `b-localqueue` needs the check.
    let output = run(&responses, &["-A"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let errors = text(&output.stderr);
    assert!(
        errors.contains("unchecked: admissionchecks.kueue.x-k8s.io: forbidden\n"),
        "{errors}"
    );
    assert!(
        errors
            .contains("unchecked: leases.coordination.k8s.io c1f6bfd2.kueue.x-k8s.io: forbidden\n"),
        "{errors}"
    );
    assert!(errors.contains(" unchecked, "), "{errors}");
    forbid(&mut responses, "/apis/jobset.x-k8s.io/v1alpha2/jobsets");
    let output = run(&responses, &["jobsets", "-A", "-o", "json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    check(&CLI_SCHEMA, &report);
    let unread =
        json!({"resource": "jobsets.jobset.x-k8s.io", "reason": "forbidden", "workloads": true});
    assert!(
        report["unchecked"].as_array().unwrap().contains(&unread),
        "{report}"
    );
}

#[test]
fn a_cluster_without_workloads_is_empty() {
    let mut responses = recording();
    let (_, groups) = responses.get_mut("/apis").unwrap();
    groups["groups"].as_array_mut().unwrap().truncate(1);
    responses.insert(
        "/apis/batch/v1/jobs".to_owned(),
        (
            200,
            json!({"kind": "JobList", "apiVersion": "batch/v1", "metadata": {}, "items": []}),
        ),
    );
    let output = run(&responses, &["-A"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(text(&output.stderr), "0 workloads\n");
    assert_eq!(
        run(&responses, &["-A", "--allow-empty"]).status.code(),
        Some(0)
    );
}

#[test]
fn a_malformed_workload_is_reported() {
    let mut responses = recording();
    let (_, jobs) = responses.get_mut("/apis/batch/v1/jobs").unwrap();
    let metadata = json!({"namespace": "team-a", "name": "pi"});
    let malformed = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"managedBy": 5}});
    jobs["items"].as_array_mut().unwrap().push(malformed);
    let output = run(&responses, &["-A", "-o", "json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    check(&CLI_SCHEMA, &report);
    assert_eq!(report["summary"]["workloads"], 18);
    let reason = "spec.managedBy: expected a string, got a number";
    assert_eq!(
        report["unchecked"],
        json!([{"resource": "jobs.batch team-a/pi", "reason": reason, "workloads": true}])
    );
}

const REPORTS: &str = "/apis/openreports.io/v1alpha1";

/// Returns the recording with a report that is outdated.
fn with_reports(mut responses: Responses) -> Responses {
    let version = json!({"groupVersion": "openreports.io/v1alpha1", "version": "v1alpha1"});
    let group =
        json!({"name": "openreports.io", "versions": [version], "preferredVersion": version});
    let (_, groups) = responses.get_mut("/apis").unwrap();
    groups["groups"].as_array_mut().unwrap().push(group);
    let scope = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "gone"});
    let outdated =
        json!({"metadata": {"namespace": "team-a", "name": "managed-by-gone"}, "scope": scope});
    let list = json!({"kind": "ReportList", "metadata": {}, "items": [outdated]});
    responses.insert(format!("{REPORTS}/reports"), (200, list));
    responses
}

#[test]
fn problems_become_reports() {
    let mut responses = with_reports(recording());
    let (output, writes) = run_and_record(&responses, &["-A", "--reports", "--problems"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (deletes, applied): (Vec<_>, Vec<_>) = writes
        .iter()
        .partition(|(request, _)| request.starts_with("DELETE"));
    let deletes: Vec<_> = deletes.into_iter().map(|(request, _)| request).collect();
    let outdated = format!("DELETE {REPORTS}/namespaces/team-a/reports/managed-by-gone");
    assert_eq!(deletes, [&outdated]);
    assert_eq!(applied.len(), 6);
    let (request, report) = applied
        .into_iter()
        .find(|(_, report)| report["scope"]["name"] == "a-noqueue")
        .unwrap();
    let uid = report["scope"]["uid"].as_str().unwrap();
    let path = format!("{REPORTS}/namespaces/team-mk/reports/managed-by-{uid}");
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

    // A namespace that is being deleted.
    let mut terminating = responses.clone();
    forbid(&mut terminating, &format!("PATCH {path}"));
    let (output, writes) = run_and_record(&terminating, &["-A", "--reports"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(writes.len(), 7, "{writes:?}");
    let error = "error: reports.openreports.io in team-mk: forbidden\n";
    assert!(text(&output.stderr).ends_with(error), "{output:?}");

    // The report may be about a workload that could not be read.
    forbid(&mut responses, "/apis/jobset.x-k8s.io/v1alpha2/jobsets");
    let (output, writes) = run_and_record(&responses, &["-A", "--reports"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        writes
            .iter()
            .all(|(request, _)| request.starts_with("PATCH")),
        "{writes:?}"
    );

    let output = run(&recording(), &["-A", "--reports"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).ends_with("error: the cluster serves neither reports.openreports.io nor policyreports.wgpolicyk8s.io\n"),
        "{output:?}"
    );
}

#[test]
fn metrics_are_printed_and_pushed() {
    let responses = recording();
    let printed = run(&responses, &["-A", "-o", "metrics"]);
    let metrics = text(&printed.stdout);
    for line in [
        "managed_by_objects{controller=\"kueue.x-k8s.io/multikueue\",kind=\"Job.batch\",verdict=\"orphaned\"} 4\n",
        // A user chooses this name.
        "managed_by_objects{controller=\"other\",kind=\"JobSet.jobset.x-k8s.io\",verdict=\"orphaned\"} 1\n",
        "managed_by_status_unread_resources 0\n",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let url = "http://SERVER/metrics/job/managed-by";
    let (output, writes) = run_and_record(&responses, &["-A", "--push-metrics", url]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let [(request, pushed)] = &*writes else {
        panic!("{writes:?}");
    };
    assert_eq!(request, "POST /metrics/job/managed-by");
    let without_time = |text: &str| text.rsplit_once(' ').unwrap().0.to_owned();
    assert_eq!(
        without_time(pushed.as_str().unwrap()),
        without_time(metrics)
    );
    let refused = run(
        &responses,
        &["-A", "--push-metrics", "http://127.0.0.1:1/metrics"],
    );
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let error = text(&refused.stderr).lines().last().unwrap();
    assert!(error.starts_with("error: 127.0.0.1/metrics: "), "{error}");
}

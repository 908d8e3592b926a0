//! Audit logs, asked who wrote which status.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use std::fmt::Write as _;

use managed_by_offline::replay::{StatusWriter, Written};
use managed_by_offline::{StatusWriters, Why, complete};
use serde_json::{Value, json};

/// What is told of a log with settings, with the lines.
fn read(settings: &Value, text: &str) -> (Written, Vec<(u64, Why, String)>) {
    let settings = settings.to_string();
    let mut writers = StatusWriters::new(&settings).unwrap();
    let mut told = Vec::new();
    writers.chunk(text.as_bytes(), 0, 0, |seen, unjudged| {
        told.push((seen.line, unjudged.why, unjudged.text));
    });
    (writers.finish(), told)
}

/// The writers of a log, as `Job: ana 2`, and of what is delegated as `acme.io/x: ana 2`.
fn listed(text: &str) -> Vec<String> {
    let (written, told) = read(&json!({}), text);
    assert_eq!(told, [], "{text}");
    lines(&written)
}

fn lines(written: &Written) -> Vec<String> {
    let lists = written.standard.iter().chain(&written.delegated);
    let lines = lists.flat_map(|(name, writers)| {
        let line = move |writer: &StatusWriter| {
            let mut line = format!("{name}: {} {}", writer.user, writer.writes);
            for (mark, count) in [("denied", writer.denied), ("found", writer.found)] {
                if count > 0 {
                    write!(line, " {mark} {count}").unwrap();
                }
            }
            line
        };
        writers.iter().map(line)
    });
    lines.collect()
}

/// An event of a status write, as an API server writes it at level `RequestResponse`.
fn event(managed_by: Option<&str>) -> Value {
    let object = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi", "namespace": "a"},
        "spec": {"managedBy": managed_by}, "status": {"active": 1}});
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
        "requestURI": "/apis/batch/v1/namespaces/a/jobs/pi/status", "verb": "update", "user": {"username": "ana"},
        "objectRef": {"resource": "jobs", "namespace": "a", "name": "pi", "apiGroup": "batch", "apiVersion": "v1",
            "subresource": "status"},
        "responseStatus": {"code": 200}, "requestObject": object, "responseObject": object,
        "requestReceivedTimestamp": "2026-11-22T13:10:37.429806Z",
    })
}

/// The same with other members; null takes one away.
fn with(changes: Value) -> Value {
    let mut event = event(None);
    change(&mut event, changes);
    event
}

fn change(value: &mut Value, into: Value) {
    match (value, into) {
        (Value::Object(members), Value::Object(into)) => {
            for (key, member) in into {
                if member.is_null() {
                    members.remove(&key);
                } else {
                    change(members.entry(key).or_insert(Value::Null), member);
                }
            }
        }
        (value, into) => *value = into,
    }
}

/// An event of level `Metadata`, with what a policy noted.
fn metadata(notes: &Value) -> Value {
    let mut event =
        with(json!({"requestObject": null, "responseObject": null, "level": "Metadata"}));
    event["annotations"] = json!({"authorization.k8s.io/decision": "allow"});
    for (key, value) in notes.as_object().unwrap() {
        event["annotations"][format!("managed-by.example.com/{key}")] = value.clone();
    }
    event
}

#[test]
fn jobset_s_controller_is_found_in_the_log_in_which_it_was_denied() {
    let path = "/../../conformance/traces/audit/jobset-resume-denied.ndjson";
    let text = std::fs::read_to_string(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (written, told) = read(&json!({}), &text);
    assert_eq!(told, []);
    assert_eq!(
        lines(&written),
        [
            "Job: system:serviceaccount:jobset-system:jobset-controller-manager 14 denied 14",
            "Job: system:serviceaccount:kube-system:job-controller 8",
            "JobSet: system:serviceaccount:jobset-system:jobset-controller-manager 6",
        ]
    );
    let (_, writers) = &written.standard[0];
    let first = &writers[0].first;
    assert_eq!((first.source, first.line), (0, 23));
    assert_eq!(first.time.as_deref(), Some("2026-11-22T13:10:48.691836Z"));
    let sums = &written.sums;
    assert_eq!((sums.documents, sums.writes, sums.denied), (36, 28, 14));
    // A conflict.
    assert_eq!((sums.refused, sums.undecided), (1, 0));

    // The log in pieces, in a list, and without the objects, says the same of who wrote; where the lines are differs.
    let settings = json!({}).to_string();
    let mut pieces = StatusWriters::new(&settings).unwrap();
    let (mut rest, mut before) = (text.as_bytes(), 0);
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(complete(
            &rest[..rest.len().min(40_000)],
            rest.len() <= 40_000,
        ));
        before += pieces.chunk(piece, 0, before, |_, unjudged| panic!("{unjudged:?}"));
        rest = more;
    }
    assert_eq!(pieces.finish(), written);
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let list = json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": events});
    assert_eq!(listed(&list.to_string()), lines(&written));
    let mut bare = String::new();
    for mut event in events {
        change(
            &mut event,
            json!({"requestObject": null, "responseObject": null, "level": "Metadata"}),
        );
        writeln!(bare, "{event}").unwrap();
    }
    assert_eq!(listed(&bare), lines(&written));
}

#[test]
fn the_object_says_whose_it_is() {
    let reserved = "kubernetes.io/job-controller";
    for (event, expected) in [
        (event(None), "Job: ana 1"),
        (event(Some(reserved)), "Job: ana 1"),
        (event(Some("acme.io/x")), "acme.io/x: ana 1"),
        // A patch says nothing of the spec, or whatever the client likes.
        (
            with(
                json!({"verb": "patch", "requestObject": {"status": {}, "spec": {"managedBy": "acme.io/x"}}}),
            ),
            "Job: ana 1",
        ),
        // The API server keeps the spec, whatever an update says.
        (
            with(json!({"requestObject": {"spec": {"managedBy": "acme.io/x"}}})),
            "Job: ana 1",
        ),
        // At level Request an update alone holds the object.
        (
            with(json!({"level": "Request", "responseObject": null})),
            "Job: ana 1",
        ),
        (
            {
                let mut event = event(Some("acme.io/x"));
                change(
                    &mut event,
                    json!({"level": "Request", "responseObject": null}),
                );
                event
            },
            "acme.io/x: ana 1",
        ),
        // Another version of the kind: the API server asks with one that the policy knows.
        (
            with(json!({"objectRef": {"apiVersion": "v2"}})),
            "Job: ana 1",
        ),
        (
            with(json!({"impersonatedUser": {"username": "bo"}})),
            "Job: bo 1",
        ),
        (with(json!({"requestReceivedTimestamp": 5})), "Job: ana 1"),
        (with(json!({"responseStatus": null})), "Job: ana 1"),
    ] {
        assert_eq!(listed(&event.to_string()), [expected], "{event}");
    }
}

/// One name in two versions of a kind, which differ in the reserved value.
#[test]
fn the_version_of_the_object_counts() {
    let mpi = |version: &str, managed_by: &str| {
        let mut event = with(
            json!({"objectRef": {"resource": "mpijobs", "apiGroup": "kubeflow.org", "apiVersion": version}}),
        );
        event["responseObject"] = json!({"kind": "MPIJob", "apiVersion": format!("kubeflow.org/{version}"),
            "spec": {"runPolicy": {"managedBy": managed_by}}});
        format!("{event}\n")
    };
    let text = [
        mpi("v1", "kubeflow.org/training-operator"),
        mpi("v2beta1", "kubeflow.org/mpi-operator"),
        mpi("v2beta1", "kubeflow.org/training-operator"),
    ];
    let expected = ["MPIJob: ana 2", "kubeflow.org/training-operator: ana 1"];
    assert_eq!(listed(&text.concat()), expected);
}

#[test]
fn the_annotations_of_the_policy_say_whose_it_is() {
    for (notes, expected) in [
        (json!({"mode": "Standard"}), Some("Job: ana 1")),
        (
            json!({"mode": "Delegated", "controller": "\"kueue.x-k8s.io/multikueue\""}),
            Some("kueue.x-k8s.io/multikueue: ana 1"),
        ),
        (
            json!({"mode": "Delegated", "controller": r#""a\"\n\u2028""#}),
            Some("a\"\n\u{2028}: ana 1"),
        ),
        // In mode monitor the API server takes what the policy would have denied.
        (
            json!({"mode": "Standard", "denied": "status-writer/standard status"}),
            Some("Job: ana 1 found 1"),
        ),
        (
            json!({"mode": "Standard", "warned": "managed-by/format spec.managedBy, status-writer/standard status"}),
            Some("Job: ana 1 found 1"),
        ),
        (
            json!({"mode": "Standard", "denied": "managed-by/format spec.managedBy"}),
            Some("Job: ana 1"),
        ),
        // Notes of somebody else, a name that was cut, and none.
        (json!({"mode": "enforce"}), None),
        (json!({"mode": ["Standard"]}), None),
        (json!({"mode": "Delegated"}), None),
        (json!({"mode": "Delegated", "controller": "\"aaa..."}), None),
        (json!({}), None),
    ] {
        let event = metadata(&notes);
        let (written, told) = read(&json!({}), &event.to_string());
        assert_eq!(told, []);
        assert_eq!(lines(&written), Vec::from_iter(expected), "{event}");
        let undecided = u64::from(expected.is_none());
        assert_eq!(written.sums.undecided, undecided, "{event}");
        let line = written.sums.first_undecided.map(|seen| seen.line);
        assert_eq!(line, expected.is_none().then_some(1), "{event}");
    }
    // The name comes from the webhook that says that there is one.
    let mut event = metadata(&json!({"mode": "Delegated"}));
    event["annotations"]["other.example.com/controller"] = "\"acme.io/x\"".into();
    let (written, _) = read(&json!({}), &event.to_string());
    assert_eq!((lines(&written), written.sums.undecided), (vec![], 1));
    // A kind whose status is patched without an answer in the log.
    let patch = with(json!({"verb": "patch", "responseObject": null, "level": "Request"}));
    let (written, _) = read(&json!({}), &patch.to_string());
    assert_eq!((lines(&written), written.sums.undecided), (vec![], 1));
}

fn denied(message: &str, notes: &Value) -> Value {
    let mut event = metadata(notes);
    event["responseStatus"] = json!({"code": 403, "message": message});
    event["responseObject"] = json!({"kind": "Status", "apiVersion": "v1"});
    event
}

#[test]
fn what_the_policy_denied_counts_and_what_others_refused_does_not() {
    let message = "admission webhook \"x\" denied the request: only a may write the status of a Job [status-writer/standard]";
    let found = json!({"mode": "Standard", "denied": "status-writer/standard status"});
    let mut sent = denied(&message.replace("standard]", "delegated]"), &json!({}));
    sent["requestObject"] = event(Some("acme.io/x"))["requestObject"].clone();
    let forged = |notes: &Value| {
        let mut event = denied(message, notes);
        event["requestObject"] = sent["requestObject"].clone();
        event
    };
    for (event, expected, refused) in [
        // What the client sent does not count where the policy says whose the object is.
        (forged(&found), Some("Job: ana 1 denied 1"), 0),
        (forged(&json!({})), Some("Job: ana 1 denied 1"), 0),
        (denied(message, &found), Some("Job: ana 1 denied 1"), 0),
        // A message of the admin's own; no annotations.
        (
            denied("ask the platform team", &found),
            Some("Job: ana 1 denied 1"),
            0,
        ),
        (denied(message, &json!({})), Some("Job: ana 1 denied 1"), 0),
        (sent.clone(), Some("acme.io/x: ana 1 denied 1"), 0),
        // Another rule, another webhook, RBAC, a conflict.
        (
            denied(
                "no",
                &json!({"mode": "Standard", "denied": "managed-by/immutable spec.managedBy"}),
            ),
            None,
            1,
        ),
        (
            denied(
                "no",
                &json!({"mode": "Standard", "warned": "status-writer/standard status"}),
            ),
            None,
            1,
        ),
        (
            denied(
                "jobs.batch \"pi\" is forbidden: User \"ana\" cannot update",
                &json!({}),
            ),
            None,
            1,
        ),
        (with(json!({"responseStatus": {"code": 409}})), None, 1),
        (
            with(json!({"responseStatus": {"code": 500, "message": message}})),
            None,
            1,
        ),
    ] {
        let (written, told) = read(&json!({}), &event.to_string());
        assert_eq!(told, []);
        assert_eq!(lines(&written), Vec::from_iter(expected), "{event}");
        assert_eq!(written.sums.refused, refused, "{event}");
        assert_eq!(written.sums.denied, 1 - refused, "{event}");
    }
}

#[test]
fn what_is_no_status_write_of_a_workload_does_not_count() {
    let job = |changes| with(changes);
    let other = |group: &str, resource: &str| {
        with(json!({"objectRef": {"apiGroup": group, "resource": resource}}))
    };
    for (event, others) in [
        (job(json!({"stage": "RequestReceived"})), 0),
        (job(json!({"verb": "get"})), 0),
        (
            job(json!({"verb": "create", "objectRef": {"subresource": null}})),
            0,
        ),
        (job(json!({"objectRef": {"subresource": null}})), 0),
        (job(json!({"objectRef": {"subresource": "scale"}})), 0),
        (
            job(json!({"requestURI": "/apis/batch/v1/namespaces/a/jobs/pi/status?dryRun=All"})),
            0,
        ),
        (
            json!({"type": "BOOKMARK", "object": {"kind": "Job", "apiVersion": "batch/v1"}}),
            0,
        ),
        // Nobody delegates a CronJob, but what it makes.
        (other("batch", "cronjobs"), 1),
        (other("", "pods"), 1),
        (other("acme.io", "jobs"), 1),
        (job(json!({"objectRef": null, "responseObject": null})), 0),
    ] {
        let (written, told) = read(&json!({}), &event.to_string());
        assert_eq!((told, lines(&written)), (vec![], vec![]), "{event}");
        let sums = written.sums;
        assert_eq!(
            (sums.writes, sums.undecided, sums.refused),
            (0, 0, 0),
            "{event}"
        );
        assert_eq!(sums.other, others, "{event}");
    }
}

#[test]
fn a_kind_that_the_settings_declare_counts() {
    let settings = json!({"custom_kinds": [
        {"group": "argoproj.io", "kind": "Workflow", "plural": "workflows", "reserved": "argoproj.io/workflow-controller",
            "managed_by": "spec.execution.managedBy"},
        {"group": "acme.io", "kind": "Job", "plural": "jobs", "versions": ["v3"]},
        {"group": "acme.io", "kind": "Plan", "plural": "plans", "holder": "template"},
    ]});
    let workflow = |managed_by: Option<&str>| {
        let mut event = with(
            json!({"objectRef": {"apiGroup": "argoproj.io", "apiVersion": "v1alpha1", "resource": "workflows"}}),
        );
        event["responseObject"] = json!({"kind": "Workflow", "apiVersion": "argoproj.io/v1alpha1",
            "spec": {"managedBy": "acme.io/elsewhere", "execution": {"managedBy": managed_by}}});
        format!("{event}\n")
    };
    let bare = |resource: &str| {
        let mut event = metadata(&json!({"mode": "Standard"}));
        change(
            &mut event,
            json!({"objectRef": {"apiGroup": "acme.io", "apiVersion": "v3", "resource": resource}}),
        );
        format!("{event}\n")
    };
    let text = [
        workflow(None),
        workflow(Some("argoproj.io/workflow-controller")),
        workflow(Some("kueue.x-k8s.io/multikueue")),
        // A name counts in all groups.
        bare("jobs"),
        format!("{}\n", event(None)),
        bare("plans"),
    ]
    .concat();
    let (written, told) = read(&settings, &text);
    assert_eq!(told, []);
    let expected = [
        "Job: ana 2",
        "Workflow: ana 2",
        "kueue.x-k8s.io/multikueue: ana 1",
    ];
    assert_eq!(lines(&written), expected);
    assert_eq!(written.sums.other, 1);
    let (undeclared, _) = read(&json!({}), &text);
    assert_eq!(lines(&undeclared), ["Job: ana 1"]);
    assert_eq!(undeclared.sums.other, 5);
    StatusWriters::new("{\"custom_kinds\":[{}]}").unwrap_err();
}

#[test]
fn what_cannot_be_read_says_why_and_costs_nothing_else() {
    let good = event(None).to_string();
    let user = |user: Value| with(json!({"user": null, "impersonatedUser": user})).to_string();
    let nobody = "an audit event of a status write that names no user";
    let no_audit =
        "expected an audit event, got an object or a watch event, which does not say who wrote it";
    for (line, why, text) in [
        (
            "{\"kind\":\"Event\",\"apiVer".to_owned(),
            Why::NotJson,
            "not JSON: ",
        ),
        (
            "[1]".to_owned(),
            Why::NotJson,
            "not JSON: expected an object",
        ),
        ("\u{0}".to_owned(), Why::NotJson, "not JSON: "),
        (
            "{}".to_owned(),
            Why::Unknown,
            "expected an object, a watch event or an audit event",
        ),
        (
            event(None)["responseObject"].to_string(),
            Why::Unknown,
            no_audit,
        ),
        (
            json!({"type": "ADDED", "object": event(None)["responseObject"]}).to_string(),
            Why::Unknown,
            no_audit,
        ),
        (user(json!({})), Why::Malformed, nobody),
        (user(json!({"username": ""})), Why::Malformed, nobody),
        (user(json!({"username": 5})), Why::Malformed, nobody),
        (user(json!("ana")), Why::Malformed, nobody),
        // An event without a user.
        (
            with(json!({"user": null})).to_string(),
            Why::Malformed,
            nobody,
        ),
    ] {
        let log = format!("{good}\n{line}\n{good}\n");
        let (written, told) = read(&json!({}), &log);
        let [(at, got, said)] = &*told else {
            panic!("{line}: {told:?}");
        };
        assert_eq!((*at, *got), (2, why), "{line}");
        assert!(said.starts_with(text), "{said}");
        assert_eq!(lines(&written), ["Job: ana 2"], "{line}");
        assert_eq!(written.sums.unjudged, [(why, 1)]);
    }
    // An object of the wrong shape is as good as none.
    for object in [
        json!([]),
        json!("Job"),
        json!({"kind": "Job", "spec": {"managedBy": 5}}),
        json!({"kind": "Table"}),
    ] {
        let event = with(json!({"responseObject": object, "requestObject": null}));
        let (written, told) = read(&json!({}), &event.to_string());
        assert_eq!((told, written.sums.undecided), (vec![], 1), "{event}");
    }
}

#[test]
fn the_most_frequent_writer_comes_first_and_the_times_span_all() {
    let write = |user: &str, second: u32| {
        let time = format!("2026-11-22T13:10:{second}.000000Z");
        let event = with(json!({"user": {"username": user}, "requestReceivedTimestamp": time}));
        format!("{event}\n")
    };
    let text = [
        write("c", 30),
        write("b", 20),
        write("a", 40),
        write("c", 10),
        write("a", 25),
    ]
    .concat();
    let (written, _) = read(&json!({}), &text);
    assert_eq!(lines(&written), ["Job: a 2", "Job: c 2", "Job: b 1"]);
    let (from, to) = written.sums.times.unwrap();
    assert_eq!(
        (&*from, &*to),
        ("2026-11-22T13:10:10.000000Z", "2026-11-22T13:10:40.000000Z")
    );
    let (_, writers) = &written.standard[0];
    // The first one of the log, which is not the earliest where files are not in order.
    assert_eq!(
        (writers[1].first.line, writers[1].first.time.as_deref()),
        (1, Some("2026-11-22T13:10:30.000000Z"))
    );
}

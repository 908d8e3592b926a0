//! `settings writers`: what it proposes can be copied, and nothing in a log gets into it unseen.

use std::fs;
use std::io::Write as _;

use managed_by_offline::SettingsText;
use serde_json::{Value, json};
use xtask::root;

use crate::formats::{check, own_schema};
use crate::support::{Ran, run, run_in};

/// The log of a run in which JobSet's controller was denied.
const RECORDED: &str = "conformance/traces/audit/jobset-resume-denied.ndjson";

fn writers(args: &[&str], stdin: &[u8]) -> Ran {
    run(&[&["settings", "writers"], args].concat(), stdin)
}

/// A status write of a Job at level `Metadata`, with what the policy notes about it.
fn event(user: &str, controller: Option<&str>) -> String {
    let mut notes = json!({"p.example.com/mode": "Standard"});
    if let Some(controller) = controller {
        notes = json!({"p.example.com/mode": "Delegated", "p.example.com/controller": format!("{controller:?}")});
    }
    let event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete", "verb": "update",
        "requestURI": "/apis/batch/v1/namespaces/a/jobs/pi/status", "user": {"username": user},
        "objectRef": {"resource": "jobs", "apiGroup": "batch", "apiVersion": "v1", "subresource": "status"},
        "responseStatus": {"code": 200}, "annotations": notes,
    });
    format!("{event}\n")
}

/// The settings that a proposal makes, which the policy accepts.
fn settings(yaml: &str) -> Value {
    let all = SettingsText::all(yaml).unwrap();
    let [settings] = &*all else {
        panic!("{yaml}");
    };
    settings.read().unwrap();
    let read: Value = serde_json::from_str(settings.json()).unwrap();
    // Another reader of YAML reads the same.
    assert_eq!(
        serde_yaml_ng::from_str::<Value>(yaml).unwrap(),
        read,
        "{yaml}"
    );
    read
}

#[test]
fn the_recorded_log_gives_the_lists_that_let_jobset_run() {
    let jobset = "system:serviceaccount:jobset-system:jobset-controller-manager";
    let job = "system:serviceaccount:kube-system:job-controller";
    let expected = json!({"standard_status_writers": {"Job": [jobset, job], "JobSet": [jobset]}});
    let plain = writers(&[RECORDED], b"");
    assert_eq!(
        (plain.code, settings(&plain.out)),
        (0, expected),
        "{plain:?}"
    );
    assert!(plain.out.contains(&format!("- {jobset} # 14 writes, 14 of them denied by the policy, first jobset-resume-denied.ndjson:23, ")));
    assert_eq!(
        plain.err,
        "36 documents, 28 status writes: 14 denied by the policy, 0 would be; 1 refused by the API server\n"
    );
    assert_eq!(writers(&["-q", RECORDED], b"").err, "");
    // Packed, piped and in two files it says the same, but for the names of the files.
    let text = fs::read(root(RECORDED)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).unwrap();
    let name = "first jobset-resume-denied.ndjson:";
    let named = |out: &str| {
        out.lines()
            .skip(1)
            .map(|l| l.replace("first stdin:", name))
            .collect::<Vec<_>>()
    };
    for stdin in [
        text.clone(),
        gzip.finish().unwrap(),
        zstd::encode_all(&*text, 1).unwrap(),
    ] {
        let ran = writers(&[], &stdin);
        assert_eq!((ran.code, named(&ran.out)), (0, named(&plain.out)));
    }
    let folder = tempfile::tempdir().unwrap();
    let half = text
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .nth(17)
        .unwrap()
        .0
        + 1;
    let (first, second) = text.split_at(half);
    for (server, part) in [("a", first), ("b", second)] {
        fs::create_dir(folder.path().join(server)).unwrap();
        fs::write(folder.path().join(server).join("audit.log"), part).unwrap();
    }
    let ran = run_in(
        folder.path(),
        &["settings", "writers", "a/audit.log", "b/audit.log"],
        b"",
    );
    assert_eq!((ran.code, settings(&ran.out)), (0, settings(&plain.out)));
    assert!(ran.out.starts_with(
        "# From 28 status writes in 2 files, 2026-11-22T13:10:37Z to 2026-11-22T13:11:29Z.\n"
    ));
    assert!(ran.out.contains("# 14 writes, 14 of them denied by the policy, first b/audit.log:5, 2026-11-22T13:10:48Z\n"), "{}", ran.out);
}

#[test]
fn json_follows_its_schema() {
    let schema = own_schema();
    let log = [
        event("ana", None),
        event("ana\n", None),
        event("bo", Some("typo/")),
        event("bo", Some("acme.io/x")),
        "{cut\n".to_owned(),
    ]
    .concat();
    let ran = writers(&["-o", "json", "-", "no/such.log"], log.as_bytes());
    assert_eq!(ran.code, 2);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    check(&schema, &document);
    assert_eq!(document["summary"]["writes"], 4);
    assert_eq!(document["summary"]["unjudged"], json!({"not-json": 1}));
    assert_eq!(document["unjudged"][0]["text"], "no such file");
    let job = &document["standard_status_writers"]["Job"];
    assert_eq!(
        (&job[0]["user"], &job[0]["refused"]),
        (&"ana".into(), &Value::Null)
    );
    assert!(
        job[1]["refused"]
            .as_str()
            .unwrap()
            .contains("no control character"),
        "{job}"
    );
    assert!(
        document["controllers"]["typo/"]["refused"].is_string(),
        "{document}"
    );
    assert!(
        document["controllers"]["acme.io/x"]["refused"].is_null(),
        "{document}"
    );

    let ran = writers(&["-o", "json", RECORDED], b"");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    check(&schema, &document);
    let first = &document["standard_status_writers"]["Job"][0];
    assert_eq!(
        (&first["denied"], &first["isPerson"]),
        (&14.into(), &false.into())
    );
    assert_eq!(
        first["first"],
        json!({"file": RECORDED, "line": 23, "time": "2026-11-22T13:10:48.691836Z"})
    );

    let ran = writers(&["-o", "json"], b"{}");
    check(&schema, &serde_json::from_str(&ran.out).unwrap());
}

/// A name is a scalar, whatever is in it. One that the settings refuse is a comment, so that what is copied starts.
#[test]
fn names_stay_names() {
    let good = [
        "a: b",
        "a #b",
        "#a",
        "- a",
        "'a'",
        "\"a\"",
        "a\\nb",
        "{a}",
        "[a]",
        "&a",
        "!a",
        "|",
        ">",
        "%a",
        "null",
        "yes",
        "1",
        "ä",
        "аna",
        "a\u{2028}- b",
        "a\u{85}b",
        "\u{202e}a",
        "a\u{1f600}",
        "system:masters: x",
    ];
    let bad = [
        "a\nb",
        "a\r\n    - system:masters",
        "a\tb",
        " a",
        "a ",
        "*",
        "system:serviceaccount:x",
    ];
    let log: String = good
        .iter()
        .chain(&bad)
        .map(|name| event(name, None))
        .collect();
    let ran = writers(&[], log.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut expected = good.to_vec();
    expected.sort_unstable();
    assert_eq!(
        settings(&ran.out),
        json!({"standard_status_writers": {"Job": expected}})
    );
    assert_eq!(ran.out.lines().count(), 4 + good.len() + bad.len());
    assert!(ran.out.is_ascii());
    let line = |start: &str| {
        ran.out
            .lines()
            .find(|line| line.starts_with(start))
            .unwrap()
    };
    let refused = "; the settings refuse it: got \"a\\nb\", expected a name: not empty, ";
    assert!(line("#     - \"a\\u000ab\" # a person? 1 write, first stdin:").contains(refused));
    let refused = "; the settings refuse it: ";
    let master = "#     - \"a\\u000d\\u000a    - system:masters\" # a person? ";
    assert!(line(master).contains(refused));
}

/// One that the settings refuse takes its list along.
#[test]
fn names_of_controllers_stay_names() {
    let names = [
        "acme.io/x",
        "a/b\n  c: d",
        "Acme.io/x",
        "kubernetes.io/job-controller",
    ];
    let log: String = names.iter().map(|name| event("ana", Some(name))).collect();
    let ran = writers(&[], log.as_bytes());
    assert_eq!(
        settings(&ran.out),
        json!({"controllers": {"acme.io/x": {"status_writers": ["ana"]}}})
    );
    assert!(
        ran.out.contains(
            "\n#   \"a/b\\u000a  c: d\": # the settings refuse it: expected a controller's name"
        ),
        "{}",
        ran.out
    );
    // Nothing is left of a section: it is a comment as a whole.
    let ran = writers(&[], event("a\nb", None).as_bytes());
    assert!(
        ran.out.lines().all(|line| line.starts_with('#')),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("\n# standard_status_writers:\n#   Job:\n#     - "),
        "{}",
        ran.out
    );
}

#[test]
fn a_list_takes_no_more_than_the_settings_do() {
    let log: String = (0..300).map(|n| event(&format!("u{n:03}"), None)).collect();
    let ran = writers(&[], log.as_bytes());
    let listed = settings(&ran.out);
    assert_eq!(
        listed["standard_status_writers"]["Job"]
            .as_array()
            .unwrap()
            .len(),
        256
    );
    assert!(ran.out.contains("\n#     - u256 # "), "{}", ran.out);
}

#[test]
fn people_are_marked() {
    for (user, is_person) in [
        ("ana@acme.io", true),
        ("kubernetes-admin", true),
        ("system", true),
        ("system:admin", true),
        ("system:anonymous", true),
        ("system:kube-controller-manager", false),
        ("system:serviceaccount:a:b", false),
    ] {
        let ran = writers(&[], event(user, None).as_bytes());
        let marked = format!("- {user} # a person? 1 write, first stdin:1\n");
        assert_eq!(ran.out.contains(&marked), is_person, "{}", ran.out);
        assert_eq!(ran.out.contains(" a person? "), is_person, "{}", ran.out);
    }
}

#[test]
fn what_is_missing_is_told_and_ends_with_2() {
    let undecided = event("ana", None).replace("p.example.com/mode", "mode-of-others");
    let good = event("ana", None);
    for (log, expected, proposes) in [
        (
            undecided.clone(),
            "error: stdin:1: 1 status write says neither that the object is delegated nor that it is not: raise",
            false,
        ),
        (
            good.clone() + &undecided + &undecided,
            "error: stdin:2: 2 status writes, the first of them here, say neither",
            true,
        ),
        (good.clone() + "{cut\n", "error: stdin:2: not JSON: ", true),
        (String::new(), "error: stdin: is empty\n", false),
        ("\u{0}".to_owned(), "error: stdin: is a binary file", false),
        (
            good.replace("\"stage\":\"ResponseComplete\"", "\"stage\":\"Panic\""),
            "error: nothing to propose: no status write of a workload counts\n",
            false,
        ),
        (
            good.replace("\"resource\":\"jobs\"", "\"resource\":\"pods\""),
            "0 status writes: 0 denied by the policy, 0 would be; 1 of other kinds\n",
            false,
        ),
    ] {
        let ran = writers(&[], log.as_bytes());
        assert_eq!(ran.code, 2, "{log}: {ran:?}");
        assert!(ran.err.contains(expected), "{log}: {}", ran.err);
        assert_eq!(!ran.out.is_empty(), proposes, "{log}: {}", ran.out);
        let nothing = "error: nothing to propose";
        assert_eq!(ran.err.contains(nothing), !proposes, "{log}: {}", ran.err);
    }
    let ran = writers(&["no/such.log"], b"");
    assert!(
        ran.code == 2 && ran.err.starts_with("error: no/such.log: no such file\n"),
        "{ran:?}"
    );
    // Three of a kind are told, the others counted.
    let ran = writers(&[], ("{cut\n".repeat(5) + &good).as_bytes());
    assert_eq!(ran.err.matches("not JSON").count(), 3, "{}", ran.err);
    assert!(
        ran.err.contains("error: stdin: 2 more: not-json\n"),
        "{}",
        ran.err
    );
}

/// A line of 20 MiB is read. One of more than 64 MiB ends the file, but what was read before it counts.
#[test]
fn long_lines_are_read_up_to_a_limit() {
    let good = event("ana", None);
    let long = |bytes: usize| {
        let event = event("bo", None);
        event.replace(
            "\"level\":\"Metadata\"",
            &format!("\"level\":\"{}\"", "x".repeat(bytes)),
        )
    };
    let ran = writers(&[], (long(20 << 20) + &good).as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        settings(&ran.out),
        json!({"standard_status_writers": {"Job": ["ana", "bo"]}})
    );
    let ran = writers(&[], (good.clone() + &long(70 << 20)).as_bytes());
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("error: stdin: holds a document of more than 64 MiB\n"),
        "{}",
        ran.err
    );
    assert_eq!(
        settings(&ran.out),
        json!({"standard_status_writers": {"Job": ["ana"]}})
    );
}

#[test]
fn declared_kinds_come_from_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(
        root("examples/settings/custom-kinds.yml"),
        folder.path().join("settings.yml"),
    )
    .unwrap();
    let log = event("ana", None)
        .replace("\"batch\"", "\"argoproj.io\"")
        .replace("\"jobs\"", "\"workflows\"");
    let args = ["settings", "writers", "--settings", "settings.yml"];
    let ran = run_in(folder.path(), &args, log.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out
            .contains("standard_status_writers:\n  Workflow:\n    - ana # "),
        "{}",
        ran.out
    );
    fs::write(folder.path().join("settings.yml"), "custom_kinds: [{}]").unwrap();
    let ran = run_in(folder.path(), &args, log.as_bytes());
    assert!(
        ran.code == 2 && ran.err.contains("custom_kinds[0].group"),
        "{ran:?}"
    );
}

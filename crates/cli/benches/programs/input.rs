//! What the programs read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use managed_by_conformance::trace::{CUSTOM, JOBS};
use serde_json::{Value, json};
use xtask::root;

/// How many manifests the folder has.
const MANIFESTS: usize = 10_000;

/// A watch stream of the recorded ones, again and again, each time of other objects, which live on or are deleted in the end.
pub(crate) fn stream(folder: &Path, bytes: u64, is_deleted: bool) -> PathBuf {
    let file = folder.join(if is_deleted {
        "deleted.ndjson"
    } else {
        "watch.ndjson"
    });
    if fs::metadata(&file).is_ok_and(|known| known.len() >= bytes) {
        return file;
    }
    let traces = JOBS
        .iter()
        .chain(&CUSTOM)
        .map(|name| fs::read_to_string(root(format!("conformance/traces/{name}.ndjson"))).unwrap());
    let mut traces: String = traces.collect();
    if is_deleted {
        traces.push_str(&deletions(&traces));
    }
    // The first group of a UID, and with it every reference to it, becomes another one.
    let uids = uids(&traces);
    let mut out = BufWriter::new(File::create(&file).unwrap());
    let (mut written, mut round) = (0, 0_u32);
    while written < bytes {
        let mut last = 0;
        for &at in &uids {
            out.write_all(&traces.as_bytes()[last..at]).unwrap();
            write!(out, "{round:08x}").unwrap();
            last = at + 8;
        }
        out.write_all(&traces.as_bytes()[last..]).unwrap();
        written += traces.len() as u64;
        round += 1;
    }
    out.flush().unwrap();
    file
}

/// The events that delete each object of a stream, in its last state.
fn deletions(traces: &str) -> String {
    let mut last = BTreeMap::new();
    for line in traces.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let uid = event["object"]["metadata"]["uid"].as_str().unwrap();
        last.insert(uid.to_owned(), line);
    }
    let lines = last.into_values();
    let deletions = lines.map(|line| {
        let (_, object) = line.split_once("\"object\":").unwrap();
        format!("{{\"type\":\"DELETED\",\"object\":{object}\n")
    });
    deletions.collect()
}

/// Where the UIDs in a text begin: 8, 4, 4, 4 and 12 hexadecimal digits.
fn uids(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let is_uid = |at: usize| {
        let uid = &bytes[at + 1..(at + 37).min(bytes.len())];
        uid.len() == 36
            && uid.iter().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => *b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
    };
    text.match_indices('"')
        .map(|(at, _)| at)
        .filter(|at| is_uid(*at))
        .map(|at| at + 1)
        .collect()
}

/// A folder of manifests, each a Job with a pod template of usual size.
pub(crate) fn manifests(folder: &Path) -> PathBuf {
    let folder = folder.join("manifests");
    if fs::read_dir(&folder).is_ok_and(|entries| entries.count() == MANIFESTS) {
        return folder;
    }
    fs::create_dir_all(&folder).unwrap();
    let mut env = String::new();
    for index in 0..20 {
        writeln!(
            env,
            "            - name: VARIABLE_{index}\n              value: \"value {index}\""
        )
        .unwrap();
    }
    for index in 0..MANIFESTS {
        let job = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: job-{index}\n  namespace: team-{}\n  labels:\n    app: bench\n\
             spec:\n  managedBy: kueue.x-k8s.io/multikueue\n  completions: 3\n  template:\n    spec:\n      restartPolicy: Never\n\
             \x20     containers:\n        - name: main\n          image: registry.example.com/image:{index}\n          env:\n{env}",
            index % 10
        );
        fs::write(folder.join(format!("job-{index:05}.yaml")), job).unwrap();
    }
    folder
}

/// A form in which people have many Jobs.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// As `kubectl get -o json` prints them.
    JsonList,
    JsonLines,
    JsonOneLine,
    YamlDocuments,
    YamlOneLine,
}

impl Form {
    pub(crate) const ALL: [Self; 5] = [
        Self::JsonList,
        Self::JsonLines,
        Self::JsonOneLine,
        Self::YamlDocuments,
        Self::YamlOneLine,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::JsonList => "a JSON list, as kubectl prints it",
            Self::JsonLines => "JSON lines",
            Self::JsonOneLine => "a JSON list in one line",
            Self::YamlDocuments => "YAML documents",
            Self::YamlOneLine => "a YAML list in one line",
        }
    }

    /// What stands before the Jobs, between them and after them.
    const fn around(self) -> [&'static str; 3] {
        match self {
            Self::JsonList => [
                "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n",
                ",\n",
                "\n    ],\n    \"kind\": \"List\"\n}\n",
            ],
            Self::JsonLines => ["", "\n", "\n"],
            Self::JsonOneLine => [
                "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[",
                ",",
                "]}\n",
            ],
            Self::YamlDocuments => ["", "---\n", ""],
            Self::YamlOneLine => ["{apiVersion: v1, kind: List, items: [", ", ", "]}\n"],
        }
    }

    fn job(self, job: &Value) -> String {
        match self {
            Self::JsonList => format!("{job:#}"),
            Self::JsonLines | Self::JsonOneLine => job.to_string(),
            Self::YamlDocuments => serde_yaml_ng::to_string(job).unwrap(),
            // Not JSON: no string is quoted.
            Self::YamlOneLine => job.to_string().replace('"', "").replace(':', ": "),
        }
    }
}

/// A file of Jobs in some form, of so many bytes or little more. Each Job has a finding, or none has.
pub(crate) fn jobs(folder: &Path, form: Form, bytes: usize, has_findings: bool) -> PathBuf {
    let name = form.as_str().replace([' ', ','], "-");
    let file = folder.join(format!("{name}-{bytes}-{has_findings}"));
    if fs::metadata(&file).is_ok_and(|known| known.len() >= bytes as u64) {
        return file;
    }
    let managed_by = if has_findings {
        "runner"
    } else {
        "acme.io/runner"
    };
    let env: Vec<_> = (0..8)
        .map(|i| json!({"name": format!("VARIABLE_{i}"), "value": format!("value {i}")}))
        .collect();
    let [before, between, after] = form.around();
    let mut text = before.to_owned();
    let mut index = 0;
    while text.len() < bytes {
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": format!("job-{index}"), "namespace": "team-a", "uid": format!("{index:08}-0000-4000-8000-000000000000")},
            "spec": {"completions": 1, "managedBy": managed_by, "template": {"spec": {
                "containers": [{"env": env, "image": "registry.example.com/image", "name": "main"}], "restartPolicy": "Never",
            }}},
        });
        if index > 0 {
            text.push_str(between);
        }
        text.push_str(&form.job(&job));
        index += 1;
    }
    text.push_str(after);
    fs::write(&file, text).unwrap();
    file
}

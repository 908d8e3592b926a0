//! Generates changes of `managedBy` and status updates of every kind, each with settings, for the rules that depend on both.

use managed_by::{FieldLocation, Kind, Settings, kinds};
use serde_json::{Map, Value, json};

use super::Generator;

const NAMES: [&str; 22] = [
    "kueue.x-k8s.io/multikueue",
    "kueue.x-k8s.io/multikueue",
    "acme.io/runner",
    "acme.io/runner",
    "runner",
    "kubernetes.io/job-controller",
    "kubernetes.io/job-controler",
    "jobset.sigs.k8s.io/jobset-controller",
    "trainer.kubeflow.org/trainjob-controller",
    "ray.io/kuberay-operator",
    "ray.io/runner",
    "tekton.dev/pipeline",
    "kubeflow.org/training-operator",
    "kubeflow.org/mpi-operator",
    "a.x-k8s.io/b",
    "ak8s.io/b",
    "studio.example.com/renderer",
    "studio.example.com/other",
    "Acme.io/runner",
    "acme.io/<é>\n",
    "acme.io/a-name-that-makes-the-whole-value-longer-than-sixty-three-bytes",
    "",
];

const NAMESPACES: [&str; 7] = [
    "team-a",
    "team-b",
    "lab",
    "a-prod",
    "aXbYc",
    "kube-system",
    "",
];

const PATTERNS: [&str; 9] = [
    "team-*",
    "team-a",
    "lab",
    "*-prod",
    "a*b*c",
    "*",
    "kube-system",
    "t*a",
    "*a*",
];

const USERS: [&str; 5] = [
    "ana",
    "runner",
    "admin",
    "system:serviceaccount:a:b",
    "system:serviceaccount:c:d",
];

const GROUPS: [&str; 3] = ["admins", "runners", "system:authenticated"];

const RULES: [&str; 10] = [
    "managed-by/format",
    "managed-by/immutable",
    "managed-by/reserved",
    "managed-by/reserved-domain",
    "managed-by/wrong-kind",
    "managed-by/pruned-version",
    "managed-by/allowed",
    "managed-by/delegation",
    "status-writer/delegated",
    "status-writer/builtin",
];

/// Kind of an object to generate.
#[derive(Clone)]
struct Target {
    group: String,
    version: String,
    kind: String,
    plural: String,
    path: String,
}

impl Target {
    fn known(kind: &Kind<'_>, version: &str) -> Self {
        Self {
            group: kind.group().into(),
            version: version.into(),
            kind: kind.name().into(),
            plural: kind.plural().into(),
            path: kind.managed_by_path().into(),
        }
    }

    fn declared(entry: &Value) -> Self {
        let text = |key: &str| {
            entry
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let path = text("managed_by_path");
        Self {
            group: text("group"),
            version: "v1".into(),
            kind: text("kind"),
            plural: text("plural"),
            path: if path.is_empty() {
                "spec.managedBy".into()
            } else {
                path
            },
        }
    }
}

impl Generator {
    /// Generates a request and valid settings.
    pub fn delegation_case(&mut self) -> (Value, Value) {
        let mut declared = Vec::new();
        while declared.is_empty() || self.one_in(2) && declared.len() < 3 {
            declared.push(self.custom_kind(declared.len()));
        }
        let mut targets: Vec<Target> = Vec::new();
        for kind in kinds() {
            targets.extend(
                kind.versions()
                    .iter()
                    .map(|version| Target::known(kind, version)),
            );
        }
        targets.extend(declared.iter().map(Target::declared));
        let target = match self.below(4) {
            0 => targets.first().cloned(),
            _ => Some(self.one_of(&targets).clone()),
        };
        let target = target.unwrap_or_else(|| Target::declared(&Value::Null));
        let settings = loop {
            let settings = self.settings(&declared);
            if Settings::from_json(settings.to_string().as_bytes()).is_ok() {
                break settings;
            }
        };
        (self.request(&target), settings)
    }

    fn custom_kind(&mut self, number: usize) -> Value {
        let mut entry = json!({"group": "studio.example.com", "kind": format!("Render{number}"), "plural": format!("render{number}s")});
        for (key, values) in [
            (
                "managed_by_path",
                vec![
                    json!("spec.managedBy"),
                    json!("spec.a.managedBy"),
                    json!("spec.a.b.c.managedBy"),
                    json!("spec.a.b.c.d.by"),
                ],
            ),
            ("reserved_value", vec![json!("studio.example.com/renderer")]),
            (
                "format",
                vec![
                    json!("path"),
                    json!("any"),
                    json!(["studio.example.com/renderer", "acme.io/runner"]),
                ],
            ),
            ("location", vec![json!("workload"), json!("template")]),
            (
                "versions",
                vec![json!(["v1"]), json!(["v1", "v2"]), json!(["v2"])],
            ),
        ] {
            if self.one_in(3) {
                set(&mut entry, key, self.one_of(&values).clone());
            }
        }
        entry
    }

    fn settings(&mut self, declared: &[Value]) -> Value {
        let mut settings = json!({"custom_kinds": declared});
        if self.one_in(4) {
            set(
                &mut settings,
                "reserved_value",
                json!(self.pick(&["deny", "allow"])),
            );
        }
        if self.one_in(2) {
            set(
                &mut settings,
                "role",
                json!(self.pick(&["hybrid", "management", "worker"])),
            );
        }
        let mut names: Vec<String> = kinds()
            .iter()
            .filter(|kind| kind.field_location() == FieldLocation::Workload)
            .map(|kind| kind.name().into())
            .collect();
        names.extend(declared.iter().map(|entry| Target::declared(entry).kind));
        names.push("Job".into());
        let kinds: Vec<&str> = names.iter().map(String::as_str).collect();
        if !self.one_in(3) {
            set(&mut settings, "controllers", self.controllers(&kinds));
        }
        let namespaces = self.namespaces();
        if !namespaces.is_empty() {
            set(&mut settings, "namespaces", namespaces.into());
        }
        if self.one_in(2) {
            let mut writers = json!({});
            for _ in 0..self.pick(&[1, 2, 3]) {
                let list = self.some_of(&[USERS.as_slice(), &GROUPS].concat());
                set(&mut writers, self.pick(&kinds), list);
            }
            set(&mut settings, "builtin_status_writers", writers);
        }
        if self.one_in(3) {
            let mut exempt = json!({});
            if self.one_in(2) {
                set(&mut exempt, "users", self.some_of(&USERS));
            }
            if self.one_in(2) {
                set(&mut exempt, "groups", self.some_of(&GROUPS));
            }
            set(&mut settings, "exempt", exempt);
        }
        if self.one_in(2) {
            let mut rules = json!({});
            for _ in 0..self.pick(&[1, 2, 4]) {
                let level = self
                    .one_of(&[
                        json!("deny"),
                        json!("deny"),
                        json!("warn"),
                        json!("off"),
                        Value::Null,
                    ])
                    .clone();
                set(&mut rules, self.pick(&RULES), level);
            }
            set(&mut settings, "rules", rules);
        }
        if self.one_in(16) {
            let key = self.pick(&[
                "role",
                "controllers",
                "namespaces",
                "rules",
                "exempt",
                "reserved_value",
                "builtin_status_writers",
            ]);
            set(&mut settings, key, Value::Null);
        }
        settings
    }

    fn controllers(&mut self, kinds: &[&str]) -> Value {
        let mut controllers = json!({});
        for _ in 0..self.below(4) {
            let mut entry = json!({});
            if self.one_in(2) {
                set(&mut entry, "kinds", self.some_of(kinds));
            }
            if self.one_in(2) {
                set(&mut entry, "namespaces", self.some_of(&PATTERNS));
            }
            if self.one_in(2) {
                set(
                    &mut entry,
                    "status_writers",
                    self.some_of(&[USERS.as_slice(), &GROUPS].concat()),
                );
            }
            let name = self.pick(&NAMES);
            set(
                &mut controllers,
                name,
                if self.one_in(16) { Value::Null } else { entry },
            );
        }
        controllers
    }

    fn namespaces(&mut self) -> Vec<Value> {
        let mut namespaces = Vec::new();
        for _ in 0..self.pick(&[0, 0, 1, 2, 3]) {
            let mut entry =
                json!({"delegation": self.pick(&["required", "required", "forbidden", "allowed"])});
            let has_labels = self.one_in(3);
            if has_labels {
                let key = self.pick(&["team", "example.com/here"]);
                set(
                    &mut entry,
                    "matchLabels",
                    json!({key: self.pick(&["a", "b"])}),
                );
            }
            if !has_labels || self.one_in(2) {
                set(&mut entry, "match", self.some_of(&PATTERNS));
            }
            namespaces.push(entry);
        }
        namespaces
    }

    fn some_of(&mut self, pool: &[&str]) -> Value {
        let mut list: Vec<&str> = Vec::new();
        for _ in 0..self.pick(&[1, 1, 2, 3]) {
            let item = self.pick(pool);
            if !list.contains(&item) {
                list.push(item);
            }
        }
        json!(list)
    }

    fn request(&mut self, target: &Target) -> Value {
        let namespace = self.pick(&NAMESPACES);
        let (operation, sub_resource) = self.pick(&[
            ("CREATE", ""),
            ("CREATE", ""),
            ("UPDATE", ""),
            ("UPDATE", ""),
            ("UPDATE", "status"),
            ("UPDATE", "status"),
            ("UPDATE", "scale"),
            ("DELETE", ""),
        ]);
        let old = self.workload(target);
        let mut object = if self.one_in(2) {
            old.clone()
        } else {
            self.workload(target)
        };
        if sub_resource == "status" && self.one_in(2) {
            set(&mut object, "status", json!({"active": 1}));
        }
        let kind =
            |version: &str| json!({"group": target.group, "version": version, "kind": target.kind});
        let written = if target.group == "ray.io" {
            self.pick(&["v1", "v1alpha1"])
        } else {
            &target.version
        };
        let mut user = json!({"username": self.pick(&USERS)});
        if !self.one_in(4) {
            set(&mut user, "groups", self.some_of(&GROUPS));
        }
        let mut request = json!({
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "operation": operation,
            "kind": kind(&target.version),
            "requestKind": kind(written),
            "resource": {"group": target.group, "version": target.version, "resource": target.plural},
            "name": "pi",
            "namespace": namespace,
            "userInfo": user,
        });
        if !sub_resource.is_empty() {
            set(&mut request, "subResource", sub_resource.into());
        }
        if operation != "DELETE" {
            set(&mut request, "object", object);
        }
        if operation != "CREATE" {
            set(&mut request, "oldObject", old);
        }
        request
    }

    /// Generates an object with everything that the rules read.
    fn workload(&mut self, target: &Target) -> Value {
        let mut metadata = json!({"name": "pi"});
        if self.one_in(2) {
            let key = self.pick(&["team", "example.com/here"]);
            set(
                &mut metadata,
                "labels",
                json!({key: self.pick(&["a", "b", "c"])}),
            );
        }
        if self.one_in(8) {
            set(
                &mut metadata,
                "deletionTimestamp",
                json!("2026-01-01T00:00:00Z"),
            );
        }
        if self.one_in(4) {
            let finalizers = self.one_of(&[json!(["ray.io/gcs"]), json!([])]).clone();
            set(&mut metadata, "finalizers", finalizers);
        }
        if self.one_in(2) {
            let (api_version, kind) = self.pick(&[
                ("jobset.x-k8s.io/v1alpha2", "JobSet"),
                ("jobset.x-k8s.io/v1", "JobSet"),
                ("batch/v1", "CronJob"),
                ("batch/v1", "Job"),
                ("ray.io/v1", "RayJob"),
                ("studio.example.com/v1", "Render0"),
                ("studio.example.com/v2", "Render1"),
                ("v1", "Job"),
            ]);
            let mut owner =
                json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": "1"});
            if !self.one_in(4) {
                set(
                    &mut owner,
                    "controller",
                    self.pick(&[true, true, true, false]).into(),
                );
            }
            let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "2"});
            set(
                &mut metadata,
                "ownerReferences",
                if self.one_in(2) {
                    json!([owner])
                } else {
                    json!([other, owner])
                },
            );
        }
        let mut object = json!({"apiVersion": format!("{}/{}", target.group, target.version), "kind": target.kind, "metadata": metadata});
        if !self.one_in(3) {
            let mut value = match self.below(12) {
                0 => Value::Null,
                _ => self.pick(&NAMES).into(),
            };
            for name in target.path.rsplit('.') {
                value = Map::from_iter([(name.to_owned(), value)]).into();
            }
            if let (Value::Object(object), Value::Object(spec)) = (&mut object, value) {
                object.extend(spec);
            }
        } else if self.one_in(2) {
            set(&mut object, "spec", json!({}));
        }
        object
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    super::merge(object, key, value);
}

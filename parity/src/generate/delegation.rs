//! Generates changes of `managedBy` and status updates of every kind, each with settings, for the rules that depend on both.

#![expect(
    clippy::indexing_slicing,
    reason = "the index of a JSON value returns null if there is no such member"
)]

use std::sync::LazyLock;

use managed_by::{Settings, kinds};
use serde_json::{Map, Value, json};

use super::{Generator, set_member};

#[expect(
    clippy::expect_used,
    reason = "a grammar that does not parse must fail the generator"
)]
static GRAMMAR: LazyLock<Value> = LazyLock::new(|| {
    let grammar = serde_yaml_ng::from_str(include_str!("delegation.yml"));
    grammar.expect("the grammar of settings and objects")
});

/// Kind of an object to generate: group, version, kind, plural and the path of `managedBy`.
type Target = [String; 5];

impl Generator {
    /// Generates a request and valid settings.
    pub fn delegation_case(&mut self) -> (Value, Value) {
        let settings = loop {
            let settings = self.derive(&GRAMMAR["settings"]);
            if Settings::from_json(settings.to_string().as_bytes()).is_ok() {
                break settings;
            }
        };
        let mut targets: Vec<Target> = Vec::new();
        for kind in kinds() {
            let target = |version: &&str| {
                [
                    kind.group(),
                    version,
                    kind.name(),
                    kind.plural(),
                    kind.managed_by_path(),
                ]
                .map(String::from)
            };
            targets.extend(kind.versions().iter().map(target));
        }
        for entry in settings["custom_kinds"].as_array().into_iter().flatten() {
            let text = |key: &str, default: &str| entry[key].as_str().unwrap_or(default).to_owned();
            let path = text("managed_by_path", "spec.managedBy");
            targets.push([
                text("group", ""),
                "v1".into(),
                text("kind", ""),
                text("plural", ""),
                path,
            ]);
        }
        // A third are Jobs.
        let jobs = targets.first().cloned().unwrap_or_default();
        let target = if self.one_in(3) {
            jobs
        } else {
            self.one_of(&targets).clone()
        };
        (self.request(&target), settings)
    }

    fn request(&mut self, target: &Target) -> Value {
        let [group, version, kind, plural, _] = target;
        let write = self.derive(&GRAMMAR["write"]);
        let old = self.workload(target);
        let mut object = if self.one_in(2) {
            old.clone()
        } else {
            self.workload(target)
        };
        if self.one_in(2) {
            set_member(&mut object, "status", json!({"active": 1}));
        }
        let written = if group == "ray.io" {
            self.pick(&["v1", "v1alpha1"])
        } else {
            version
        };
        let mut request = json!({
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "operation": write[0],
            "subResource": write[1],
            "kind": {"group": group, "version": version, "kind": kind},
            "requestKind": {"group": group, "version": written, "kind": kind},
            "resource": {"group": group, "version": version, "resource": plural},
            "name": "pi",
            "namespace": self.derive(&GRAMMAR["namespace"]),
            "userInfo": self.derive(&GRAMMAR["user"]),
            "object": object,
        });
        if write[0] != "CREATE" {
            set_member(&mut request, "oldObject", old);
        }
        request
    }

    /// Generates an object with metadata and, in most cases, a spec with `managedBy`.
    fn workload(&mut self, [group, version, kind, _, path]: &Target) -> Value {
        let mut object = json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": self.derive(&GRAMMAR["metadata"])});
        let mut value = self.derive(&GRAMMAR["managedBy"]);
        for name in path.rsplit('.') {
            value = Map::from_iter([(name.to_owned(), value)]).into();
        }
        let spec = value.get("spec").cloned().unwrap_or_default();
        if !self.one_in(4) {
            set_member(&mut object, "spec", spec);
        } else if self.one_in(2) {
            set_member(&mut object, "spec", json!({}));
        }
        object
    }

    /// Generates a value from a grammar: `delegation.yml` describes its operators.
    pub fn derive(&mut self, node: &Value) -> Value {
        let Value::Object(members) = node else {
            let items = node.as_array();
            return items.map_or_else(
                || node.clone(),
                |items| items.iter().map(|item| self.derive(item)).collect(),
            );
        };
        let pool = |operator: &str| members.get(operator).and_then(Value::as_array);
        if let Some(pool) = pool("one") {
            let choice = self.one_of(pool);
            return self.derive(choice);
        }
        if let Some(pool) = pool("some") {
            let mut list: Vec<Value> = Vec::new();
            for _ in 0..self.pick(&[1, 1, 2, 3]) {
                let item = self.one_of(pool).clone();
                if !list.contains(&item) {
                    list.push(item);
                }
            }
            return list.into();
        }
        if let Some(item) = members.get("list") {
            return (0..self.pick(&[1, 1, 2, 3]))
                .map(|_| self.derive(item))
                .collect();
        }
        let mut object = json!({});
        if let (Some(names), Some(value)) = (pool("map"), members.get("of")) {
            for _ in 0..self.below(4) {
                let name = self.one_of(names).as_str().unwrap_or_default();
                let value = self.derive(value);
                set_member(&mut object, name, value);
            }
            return object;
        }
        for (key, value) in members {
            let optional = key
                .split_once('/')
                .and_then(|(key, n)| Some((key, n.parse().ok()?)));
            let (key, n) = optional.unwrap_or((key, 1));
            if self.one_in(n) {
                let value = self.derive(value);
                set_member(&mut object, key, value);
            }
        }
        object
    }
}

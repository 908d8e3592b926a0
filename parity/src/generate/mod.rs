//! Generates status updates of Jobs, most of them close to valid, and changes of suspended Jobs' templates.

mod change;
mod delegation;
mod mutate;

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::job::{job, status_update, update};
use crate::vector::Case;

/// Number of generated status updates that are committed as vectors.
const SAMPLE: u64 = 600;

const SAMPLE_SEED: u64 = 4368;

/// Number of generated template changes that are committed as vectors.
const TEMPLATE_SAMPLE: u64 = 200;

/// Pools of values for generated cases, from `values.yml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    ints: Vec<Value>,
    times: Vec<Value>,
    condition_types: Vec<String>,
    condition_statuses: Vec<String>,
    indexes: Vec<String>,
    uids: Vec<Value>,
    fields: Vec<String>,
    spec_fields: Vec<String>,
    invalid: Vec<Value>,
    anything: Vec<Value>,
    job_statuses: Vec<Value>,
    suspended: Vec<Value>,
    pods: Vec<Map<String, Value>>,
}

#[expect(
    clippy::expect_used,
    reason = "values that do not parse must fail the generator"
)]
static VALUES: LazyLock<Values> = LazyLock::new(|| {
    let values = serde_yaml_ng::from_str(include_str!("values.yml"));
    values.expect("the values of generated cases")
});

/// Generates the committed status updates.
pub fn sample() -> Vec<Case> {
    let mut generator = Generator::new(SAMPLE_SEED);
    (0..SAMPLE).map(|n| generator.case(n)).collect()
}

/// Generates the committed template changes.
pub fn template_sample() -> Vec<Case> {
    let mut generator = Generator::new(SAMPLE_SEED);
    (0..TEMPLATE_SAMPLE)
        .map(|n| generator.template_case(n))
        .collect()
}

/// A seeded source of cases: `SplitMix64`.
#[derive(Clone)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// Creates a generator. Equal seeds generate equal cases.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or_default()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *self.one_of(from)
    }

    /// Picks an item from a pool, which must not be empty.
    pub fn one_of<'p, T>(&mut self, pool: &'p [T]) -> &'p T {
        let index = usize::try_from(self.below(pool.len() as u64)).unwrap_or_default();
        #[expect(clippy::indexing_slicing, reason = "below the length")]
        &pool[index]
    }

    /// Generates a status update.
    ///
    /// It is either a controller's step with a few mutations, or a change of one field in an invalid status. The latter tests that
    /// the library, like upstream, validates only changed fields.
    pub fn case(&mut self, number: u64) -> Case {
        let spec = self.spec();
        let (mut old, mut new) = self.step(&spec);
        if self.one_in(2) {
            for _ in 0..self.pick(&[0, 0, 0, 1, 1, 1, 1, 2, 2, 6]) {
                self.mutate(&mut new);
            }
        } else {
            if self.one_in(2) {
                old.clone_from(&new);
            }
            for _ in 0..self.pick(&[1, 2, 2, 3, 4]) {
                self.mutate(&mut old);
            }
            new.clone_from(&old);
            self.mutate(&mut new);
        }
        let mut case = status_update(
            format!("generated: {number}"),
            &spec,
            old.into(),
            new.into(),
        );
        if self.one_in(8) {
            self.corrupt(&mut case);
        }
        case
    }

    /// Generates a status update, or in one of eight cases a template change.
    pub fn any_case(&mut self, number: u64) -> Case {
        if self.one_in(8) {
            self.template_case(number)
        } else {
            self.case(number)
        }
    }

    /// Generates a change that rules judge differently in patch releases of the same minor release: a suspended Job ends without
    /// completions, resumes, or gets another template.
    pub fn patch_case(&mut self, number: u64) -> Case {
        if self.one_in(3) {
            return self.template_case(number);
        }
        let mut spec = json!({"suspend": self.pick(&[true, true, false]), "completions": self.pick(&[0, 0, 1])});
        if self.one_in(8) {
            spec = self.spec();
        }
        let old = self.suspended_status();
        let mut new = self.suspended_status();
        if self.one_in(4) {
            new.clone_from(&old);
        }
        if self.one_in(4) {
            self.mutate(&mut new);
        }
        let name = format!("generated for patch releases: {number}");
        status_update(name, &spec, old.into(), new.into())
    }

    /// Generates a status with times, and conditions that are often consistent.
    fn suspended_status(&mut self) -> Map<String, Value> {
        let mut conditions = Vec::new();
        let outcome = self.pick(&[
            &[][..],
            &[],
            &["SuccessCriteriaMet", "Complete"],
            &["SuccessCriteriaMet", "Complete"],
            &["FailureTarget", "Failed"],
        ]);
        for condition in outcome.iter().chain(&["Suspended", "Suspended"]) {
            let status = self.pick(&["True", "True", "False", "Unknown"]);
            if *condition != "Suspended" || self.one_in(2) {
                conditions.push(json!({"type": condition, "status": status}));
            }
        }
        let mut status = Map::new();
        for field in ["startTime", "completionTime"] {
            if self.one_in(2) {
                status.insert(field.to_owned(), self.one_of(&VALUES.times).clone());
            }
        }
        status.insert("conditions".to_owned(), conditions.into());
        status
    }

    /// Generates a change of a suspended Job's template, or an update without a change, with a controller's status.
    pub fn template_case(&mut self, number: u64) -> Case {
        let pod = |generator: &mut Self| {
            let mut pod = Map::new();
            for _ in 0..generator.pick(&[0, 1, 1, 2, 3]) {
                pod.extend(generator.one_of(&VALUES.pods).clone());
            }
            Value::from(pod)
        };
        let metadata = |generator: &mut Self| {
            let label = generator.pick(&["pi", "pi", "pi", "pie"]);
            match generator.below(6) {
                0 => json!({"labels": {"app": "pi", "image": label}}),
                1 => json!({"annotations": {"acme.io/a": label}}),
                2 => json!({"annotations": {}, "creationTimestamp": null}),
                _ => json!({}),
            }
        };
        let status = self.one_of(&VALUES.suspended);
        let (old_pod, old_metadata) = (pod(self), metadata(self));
        let (new_pod, new_metadata) = match self.below(4) {
            0 => (old_pod.clone(), old_metadata.clone()),
            1 => (old_pod.clone(), metadata(self)),
            _ => (pod(self), metadata(self)),
        };
        let suspend = self.pick(&[true, false]);
        let old = with_template(true, &old_pod, &old_metadata, status);
        let new = with_template(suspend, &new_pod, &new_metadata, &json!({}));
        update(format!("generated template: {number}"), old, new)
    }

    /// Makes a change that no controller makes: removes parts, or writes another spec, null or a wrong type.
    fn corrupt(&mut self, case: &mut Case) {
        let old = case.old_object.as_mut();
        let side = if self.one_in(2) { old } else { None };
        let object = side.unwrap_or(&mut case.object);
        let part = self.pick(&["spec", "status"]);
        match self.below(8) {
            0 => drop(object.as_object_mut().map(|o| o.remove(part))),
            1 => set_member(object, part, Value::Null),
            2 | 3 => {
                let spec = self.spec();
                set_member(&mut case.object, "spec", spec);
            }
            4 => {
                let name = json!({"name": "<\"é&", "namespace": "default", "uid": "1", "resourceVersion": "7"});
                set_member(&mut case.object, "metadata", name.clone());
                if let Some(old) = &mut case.old_object {
                    set_member(old, "metadata", name);
                }
            }
            5 => {
                let invalid = self.one_of(&VALUES.invalid).clone();
                if let Some(status) = object.get_mut("status") {
                    let field = self.one_of(&VALUES.fields);
                    set_member(status, field, invalid);
                }
            }
            _ => {
                let field = self.one_of(&VALUES.spec_fields);
                if let Some(spec) = object.get_mut("spec") {
                    set_member(spec, field, Value::Null);
                }
            }
        }
    }

    fn spec(&mut self) -> Value {
        let mut spec = Map::new();
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if self.one_in(2) {
            set("completionMode", json!("Indexed"));
            set(
                "completions",
                json!(self.pick(&[-1, 0, 1, 3, 5, 10, 10, 10, 10, 100])),
            );
            if self.one_in(2) {
                set("backoffLimitPerIndex", json!(1));
            }
            if self.one_in(4) {
                set("successPolicy", json!({"rules": [{"succeededCount": 1}]}));
            }
        } else {
            if self.one_in(4) {
                set("completionMode", json!("NonIndexed"));
            }
            if self.one_in(2) {
                set("completions", json!(self.pick(&[0, 1, 3, 10])));
            }
            if self.one_in(16) {
                set("backoffLimitPerIndex", json!(1));
            }
            if self.one_in(16) {
                set("successPolicy", json!({"rules": [{"succeededCount": 1}]}));
            }
        }
        if self.one_in(2) {
            set("parallelism", json!(self.pick(&[0, 1, 3, 10])));
        }
        if self.one_in(8) {
            set("managedBy", json!("acme.io/runner"));
        }
        if self.one_in(4) {
            set("suspend", json!(self.pick(&[true, true, false])));
        }
        spec.into()
    }

    /// Picks two statuses of a controller, usually consecutive ones.
    fn step(&mut self, spec: &Value) -> (Map<String, Value>, Map<String, Value>) {
        let indexed = spec.get("completionMode").is_some_and(|m| m == "Indexed");
        let limited = spec.get("backoffLimitPerIndex").is_some();
        let mut statuses = VALUES.job_statuses.clone();
        if indexed {
            for status in &mut statuses {
                if self.one_in(2) {
                    set_member(status, "completedIndexes", self.indexes().into());
                }
                if limited && self.one_in(2) {
                    set_member(status, "failedIndexes", self.indexes().into());
                }
            }
        }
        let last = statuses.len().saturating_sub(1) as u64;
        let from = self.below(last);
        // Usually the next status or the same one, sometimes any.
        let to = match self.below(8) {
            0..4 => from.saturating_add(1),
            4..7 => from,
            _ => self.below(last.saturating_add(1)),
        };
        let status = |n: u64| {
            let status = usize::try_from(n).ok().and_then(|n| statuses.get(n));
            status
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        };
        (status(from), status(to))
    }

    /// Changes one field of a status.
    fn mutate(&mut self, status: &mut Map<String, Value>) {
        let field = self.one_of(&VALUES.fields).as_str();
        if self.one_in(8) {
            status.remove(field);
            return;
        }
        let value = match field {
            _ if self.one_in(24) => Value::Null,
            "startTime" | "completionTime" => self.one_of(&VALUES.times).clone(),
            "completedIndexes" | "failedIndexes" => json!(self.indexes()),
            "uncountedTerminatedPods" => self.uncounted(),
            "conditions" => self.conditions(status.get("conditions")),
            _ => self.one_of(&VALUES.ints).clone(),
        };
        status.insert(field.to_owned(), value);
    }

    /// Generates index intervals, in three of four cases in order.
    fn indexes(&mut self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if self.one_in(4) {
            for _ in 0..self.below(4) {
                let first = self.one_of(&VALUES.indexes);
                let last = self.one_of(&VALUES.indexes);
                parts.push(if self.one_in(2) {
                    first.clone()
                } else {
                    format!("{first}-{last}")
                });
            }
        } else {
            let mut next = self.below(3);
            let (end, stop) = self.pick(&[(10, 3), (10, 3), (10, 3), (100, 30)]);
            while next < end {
                let last = next.saturating_add(self.below(3));
                parts.push(if last > next {
                    format!("{next}-{last}")
                } else {
                    next.to_string()
                });
                next = last.saturating_add(1).saturating_add(self.below(4));
                if self.one_in(stop) {
                    break;
                }
            }
        }
        parts.join(",")
    }

    fn uncounted(&mut self) -> Value {
        let mut pods = Map::new();
        for list in ["succeeded", "failed"] {
            if self.one_in(6) {
                continue;
            }
            if self.one_in(12) {
                pods.insert(list.to_owned(), Value::Null);
                continue;
            }
            let most = self.pick(&[2, 4, 4, 12]);
            let uids: Vec<_> = (0..self.below(most)).map(|_| self.uid()).collect();
            pods.insert(list.to_owned(), uids.into());
        }
        pods.into()
    }

    fn uid(&mut self) -> Value {
        if self.one_in(40) {
            return Value::Null;
        }
        self.one_of(&VALUES.uids).clone()
    }

    /// Adds, replaces or removes a condition.
    fn conditions(&mut self, current: Option<&Value>) -> Value {
        let mut list = current
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut entry = json!({"type": self.one_of(&VALUES.condition_types), "status": self.one_of(&VALUES.condition_statuses)});
        match self.below(60) {
            0 => entry = Value::Null,
            1 => drop(entry.as_object_mut().map(|e| e.remove("type"))),
            2 => set_member(&mut entry, "status", Value::Null),
            _ => {}
        }
        let at = usize::try_from(self.below(list.len() as u64)).unwrap_or_default();
        match self.below(3) {
            0 if !list.is_empty() => drop(list.remove(at)),
            1 if !list.is_empty() => drop(list.get_mut(at).map(|e| *e = entry)),
            _ => list.push(entry),
        }
        list.into()
    }
}

pub(crate) fn set_member(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// Builds a Job with a template and a status.
fn with_template(suspend: bool, pod: &Value, metadata: &Value, status: &Value) -> Value {
    let mut job = job();
    let parts = json!({"suspend": suspend, "template": {"metadata": metadata, "spec": pod}});
    merge(&mut job, &json!({"spec": parts, "status": status}));
    job
}

/// Merges members into an object recursively.
fn merge(object: &mut Value, more: &Value) {
    match (object, more) {
        (Value::Object(object), Value::Object(more)) => {
            for (key, value) in more {
                merge(object.entry(key).or_insert_with(|| json!({})), value);
            }
        }
        (place, value) => *place = value.clone(),
    }
}

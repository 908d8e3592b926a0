//! Generates changes of a Job's spec: edits in any part of real specs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::{Generator, set_member};
use crate::fields;
use crate::job::{job, update};
use crate::vector::Case;

type Fields = Vec<(&'static str, &'static str)>;

/// Specs that are edited, and the values that their fields have.
struct Specs {
    jobs: Vec<Value>,
    fields: BTreeMap<&'static str, Fields>,
    values: BTreeMap<(&'static str, &'static str), Vec<Value>>,
}

#[expect(
    clippy::expect_used,
    reason = "specs that do not parse must fail the generator"
)]
static SPECS: LazyLock<Specs> = LazyLock::new(|| {
    let specs: Vec<Value> =
        serde_yaml_ng::from_str(include_str!("jobs.yml")).expect("specs of Jobs");
    let fields = fields::TABLE.lines().filter_map(|line| {
        let (structure, fields) = line.split_once(' ')?;
        let field = |field: &'static str| {
            let (name, of) = field.split_once(':')?;
            // Another rule is about `managedBy`.
            let of = of.split(['/', '@', '=']).next()?;
            (name != "managedBy").then_some((name, of))
        };
        Some((structure, fields.split(' ').filter_map(field).collect()))
    });
    let fields: BTreeMap<_, Fields> = fields.collect();
    let mut values = BTreeMap::new();
    for spec in &specs {
        collect("JobSpec", spec, &fields, &mut values);
    }
    Specs {
        jobs: specs,
        fields,
        values,
    }
});

/// Collects the values of the fields of a type.
fn collect(
    of: &str,
    value: &Value,
    fields: &BTreeMap<&'static str, Fields>,
    values: &mut BTreeMap<(&'static str, &'static str), Vec<Value>>,
) {
    let of = of.trim_start_matches(['*', '[']);
    if let Value::Array(items) = value {
        for item in items {
            collect(of, item, fields, values);
        }
    }
    if let Some((structure, fields_here)) = fields.get_key_value(of) {
        for (name, of) in fields_here {
            if let Some(value) = value.get(name) {
                values
                    .entry((*structure, *name))
                    .or_default()
                    .push(value.clone());
                collect(of, value, fields, values);
            }
        }
    }
}

impl Generator {
    /// Generates a change from one manifest of a Job to another one. Some old manifests are invalid.
    pub fn change(&mut self, number: u64) -> Case {
        let mut old = self.one_of(&SPECS.jobs).clone();
        if self.one_in(8) {
            set_member(&mut old, "suspend", true.into());
        }
        let mut description = String::new();
        while self.one_in(3) {
            self.edit("JobSpec", &mut old, &mut String::new());
        }
        let mut new = old.clone();
        for _ in 0..self.pick(&[0, 1, 1, 1, 1, 1, 1, 2, 3]) {
            self.edit("JobSpec", &mut new, &mut description);
        }
        if self.one_in(4) {
            std::mem::swap(&mut old, &mut new);
        }
        let started = json!({"startTime": "2026-01-01T00:00:00Z", "active": 1});
        let suspended = json!({"conditions": [{"type": "Suspended", "status": "True"}]});
        let status = self.pick(&[&json!({}), &started, &suspended]).clone();
        let manifest = |spec: Value, status: Option<Value>| {
            let mut job = job();
            set_member(
                &mut job,
                "metadata",
                json!({"name": "pi", "namespace": "default"}),
            );
            set_member(&mut job, "spec", spec);
            if let Some(status) = status {
                set_member(&mut job, "status", status);
            }
            job
        };
        let case = update(
            format!("change {number}:{description}"),
            manifest(old, self.one_in(4).then_some(status)),
            manifest(new, None),
        );
        Case {
            operation: "APPLY".to_owned(),
            ..case
        }
    }

    /// Edits a field of a struct, or of one that it contains.
    fn edit(&mut self, of: &str, value: &mut Value, description: &mut String) {
        let Some((structure, fields)) = SPECS.fields.get_key_value(of) else {
            return;
        };
        let Value::Object(members) = value else {
            return;
        };
        let present: Vec<_> = fields
            .iter()
            .filter(|(name, _)| members.contains_key(*name))
            .copied()
            .collect();
        if present.is_empty() || self.one_in(if of == "JobSpec" { 6 } else { 4 }) {
            let (name, of) = *self.one_of(fields);
            let known = SPECS.values.get(&(*structure, name));
            let value = match known {
                Some(known) if !self.one_in(3) => self.one_of(known).clone(),
                _ => self.value(of, 0),
            };
            let _ = write!(description, " {name}={value}");
            members.insert(name.to_owned(), value);
            return;
        }
        // Most fields are in the template.
        let (name, of) = if members.contains_key("template") && !self.one_in(4) {
            ("template", "PodTemplateSpec")
        } else {
            *self.one_of(&present)
        };
        let Some(value) = members.get_mut(name) else {
            return;
        };
        let inner = of.trim_start_matches('*');
        let element = inner.trim_start_matches('[');
        let is_nested = SPECS.fields.contains_key(element);
        let _ = write!(description, " {name}");
        if is_nested && (name == "template" || name == "spec" || !self.one_in(3)) {
            if let Value::Array(items) = value {
                if items.is_empty() {
                    items.push(self.value(element, 0));
                    return;
                }
                let index = usize::try_from(self.below(items.len() as u64)).unwrap_or_default();
                let _ = write!(description, "[{index}]");
                let Some(item) = items.get_mut(index) else {
                    return;
                };
                return self.edit(element, item, description);
            }
            return self.edit(inner, value, description);
        }
        match self.below(6) {
            0 => drop(members.remove(name)),
            1 => *value = Value::Null,
            2 => {
                *value = match value {
                    Value::Object(_) => json!({}),
                    Value::Array(_) => json!([]),
                    Value::String(_) => json!(""),
                    Value::Bool(_) => json!(false),
                    _ => json!(0),
                }
            }
            3 => *value = self.value(of, 0),
            _ => self.alter(inner, value),
        }
        let _ = write!(
            description,
            "={}",
            members.get(name).unwrap_or(&json!("removed"))
        );
    }

    /// Alters a value a little.
    fn alter(&mut self, of: &str, value: &mut Value) {
        match value {
            Value::Array(items) => match self.below(4) {
                0 => items.reverse(),
                1 => drop(items.pop()),
                2 => items.extend(items.first().cloned()),
                _ => items.insert(0, self.value(of.trim_start_matches('['), 0)),
            },
            Value::Object(members) => match self.below(3) {
                0 => {
                    drop(members.insert("a".to_owned(), self.value(of.trim_start_matches('{'), 1)));
                }
                1 => members
                    .values_mut()
                    .take(1)
                    .for_each(|value| self.alter(of.trim_start_matches('{'), value)),
                _ => *members = members.clone().into_iter().skip(1).collect(),
            },
            Value::Number(number) => {
                *value = json!(number.as_i64().unwrap_or_default().saturating_add(1));
            }
            Value::Bool(is) => *value = json!(!*is),
            // Another spelling of a quantity, or another text.
            Value::String(text) => match &**text {
                "1" => *value = json!(self.pick(&["1000m", "1.0", "2"])),
                "250m" => *value = json!(self.pick(&["0.25", ".25", "0.2500", "251m"])),
                "1Ti" => *value = json!(self.pick(&["1024Gi", "1T", "1099511627776"])),
                "10Gi" | "100Mi" | "64Mi" => {
                    *value = json!(self.pick(&["10240Mi", "104857600", "65536Ki", "67108864"]));
                }
                _ => text.push('x'),
            },
            Value::Null => *value = self.value(of, 0),
        }
    }

    /// Generates a value of a Go type.
    fn value(&mut self, of: &str, depth: u32) -> Value {
        let of = of.trim_start_matches('*');
        if let Some(of) = of.strip_prefix('[') {
            let count = if depth > 2 { 0 } else { self.below(2) };
            return (0..count)
                .map(|_| self.value(of, depth.saturating_add(1)))
                .collect();
        }
        if let Some(of) = of.strip_prefix('{') {
            let keys = self.pick(&[&[][..], &["a"], &["cpu"]]);
            return keys
                .iter()
                .map(|key| ((*key).to_owned(), self.value(of, depth.saturating_add(1))))
                .collect::<Map<_, _>>()
                .into();
        }
        match of {
            "string" => json!(self.pick(&["", "", "a", "b", "Always", "TCP"])),
            "bool" => json!(self.one_in(2)),
            "int32" | "int64" => json!(self.pick(&[0, 0, 1, 2, 3, 30, 420])),
            "quantity" => self
                .one_of(&[
                    json!("0"),
                    json!("1"),
                    json!(1),
                    json!("1Gi"),
                    json!("1000m"),
                    json!(0.5),
                ])
                .clone(),
            "number-or-name" => self
                .one_of(&[json!(80), json!("http"), json!(0), json!("")])
                .clone(),
            "time" => Value::Null,
            _ => {
                let mut members = Map::new();
                let fields = SPECS.fields.get(of);
                if let Some(fields) = fields.filter(|_| depth < 3 && !self.one_in(3)) {
                    for _ in 0..self.below(3) {
                        let (name, of) = *self.one_of(fields);
                        members.insert(name.to_owned(), self.value(of, depth.saturating_add(1)));
                    }
                }
                members.into()
            }
        }
    }
}

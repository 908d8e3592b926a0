//! The Jobs of the small world, as `small.yml` says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases::job;
use crate::generate::Generator;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Small {
    fields: Vec<Field>,
    parts: Vec<World>,
}

#[expect(
    clippy::expect_used,
    reason = "a world that does not parse must not go unnoticed"
)]
static SMALL: LazyLock<Small> = LazyLock::new(|| {
    let small = serde_yaml_ng::from_str(include_str!("small.yml"));
    let small: Small = small.expect("the small world");
    let is_field = |(place, count): (&String, &usize)| {
        let mut fields = small.fields.iter();
        fields.any(|field| field.place == *place && *count <= field.values.len())
    };
    for part in &small.parts {
        let places = part.shared.iter().chain(&part.own).chain(&part.given);
        assert!(places.into_iter().all(is_field), "{}", part.name);
    }
    for field in &small.fields {
        let is_condition = !field.place.starts_with('/');
        let mut values = field.values.iter();
        let are_texts = values.all(|value| value.is_null() || value.is_string());
        assert!(are_texts || !is_condition, "{}", field.place);
    }
    small
});

/// All parts.
pub fn worlds() -> &'static [World] {
    &SMALL.parts
}

/// A field of a Job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    place: String,
    values: Vec<Value>,
    #[serde(default)]
    usual: usize,
}

/// Some fields, each with how many of its values are taken, or with the place of one of them.
type Choices = BTreeMap<String, usize>;

/// A part of the small world: all pairs of its Jobs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// Its name in reports.
    pub name: String,
    /// Empty for updates of the main resource.
    #[serde(default)]
    pub sub_resource: String,
    #[serde(default)]
    shared: Choices,
    own: Choices,
    #[serde(default)]
    given: Choices,
    /// Whether a Job may end in it, if nothing but its status stops it.
    #[serde(default)]
    pub may_end: bool,
}

/// A Job of the small world: the place of the value of each field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job(Vec<usize>);

fn position(place: &str) -> usize {
    let position = SMALL.fields.iter().position(|field| field.place == place);
    position.unwrap_or_default()
}

impl Job {
    fn get(&self, place: &str) -> usize {
        self.0.get(position(place)).copied().unwrap_or_default()
    }

    fn with(mut self, place: &str, value: usize) -> Self {
        if let Some(old) = self.0.get_mut(position(place)) {
            *old = value;
        }
        self
    }

    /// Whether a condition has an entry that is True.
    pub fn is_true(&self, condition: &str) -> bool {
        let statuses = self.value(condition).as_str();
        statuses.is_some_and(|statuses| statuses.contains("True"))
    }

    /// Whether it is complete or has failed.
    pub fn is_finished(&self) -> bool {
        self.is_true("Complete") || self.is_true("Failed")
    }

    /// The value of a field; null if it has none.
    pub fn value(&self, place: &str) -> &'static Value {
        let field = SMALL.fields.get(position(place));
        let value = field.and_then(|field| field.values.get(self.get(place)));
        value.unwrap_or(&Value::Null)
    }

    /// The Job as kube-apiserver stores it.
    pub fn object(&self) -> Value {
        let mut object = job();
        let mut conditions = Vec::new();
        for Field { place: at, .. } in &SMALL.fields {
            match self.value(at) {
                Value::Null => {}
                value if at.starts_with('/') => value.clone_into(place(&mut object, at)),
                statuses => {
                    let statuses = statuses.as_str().unwrap_or_default().split(' ');
                    conditions.extend(statuses.map(|is| json!({"type": at, "status": is})));
                }
            }
        }
        if !conditions.is_empty() {
            *place(&mut object, "/status/conditions") = conditions.into();
        }
        object
    }

    /// A Job with any value in each field, beside others of the same spec.
    pub fn any(generator: &mut Generator, spec: Option<&Self>) -> Self {
        let any = |field: &Field| match spec {
            Some(spec) if field.place.starts_with("/spec/") => spec.get(&field.place),
            _ => {
                let place = generator.below(field.values.len() as u64);
                usize::try_from(place).unwrap_or_default()
            }
        };
        Self(SMALL.fields.iter().map(any).collect())
    }
}

/// What is at a pointer, which may lead through what is not there yet.
fn place<'v>(object: &'v mut Value, pointer: &str) -> &'v mut Value {
    let names = pointer.split('/').skip(1);
    names.fold(object, |place, name| &mut place[name])
}

impl World {
    /// A Job with nothing but what all Jobs of this part have.
    fn usual(&self) -> Job {
        let usual = Job(SMALL.fields.iter().map(|field| field.usual).collect());
        let given = self.given.iter();
        given.fold(usual, |job, (place, value)| job.with(place, *value))
    }

    /// Its Jobs; each group holds those that are the same in all shared fields. The first of each has no status but what
    /// is usual.
    pub fn groups(&self) -> Vec<Vec<Job>> {
        let with_all = |jobs: Vec<Job>, (place, count): (&String, &usize)| -> Vec<Job> {
            let values = |job: Job| (0..*count).map(move |value| job.clone().with(place, value));
            jobs.into_iter().flat_map(values).collect()
        };
        let specs = self.shared.iter().fold(vec![self.usual()], with_all);
        let group = |spec| self.own.iter().fold(vec![spec], with_all);
        specs.into_iter().map(group).collect()
    }

    /// What this part sees of a Job: its own fields, a value that it does not take as the first one, and all else as usual.
    pub fn seen(&self, job: &Job) -> Job {
        let choices = self.shared.iter().chain(&self.own);
        choices.fold(self.usual(), |seen, (place, count)| {
            let value = job.get(place);
            seen.with(place, if value < *count { value } else { 0 })
        })
    }
}

//! The Jobs of the small world: which values of a field the rules can tell apart, and which fields meet in which part.

use serde_json::{Value, json};

use crate::cases::job;
use crate::generate::Generator;

const T1: &str = r#""2026-01-01T00:00:00Z""#;
const T2: &str = r#""2026-01-01T01:00:00Z""#;
const TRUE: &str = "True";
const FALSE: &str = "False";

/// A field of a Job.
struct Field {
    /// Where it is: a pointer, or the type of a condition.
    place: &'static str,
    /// Its values as JSON, of a condition the status of each entry. The empty text leaves it out. A part that takes fewer of
    /// them takes the first ones.
    values: &'static [&'static str],
    /// The value where nothing else is chosen.
    usual: usize,
}

const fn field(place: &'static str, values: &'static [&'static str]) -> Field {
    Field {
        place,
        values,
        usual: 0,
    }
}

/// The fields that status rules read; the last is for the rule on templates.
const FIELDS: [Field; 24] = [
    field("Complete", &["", TRUE, FALSE]),
    field("Failed", &["", TRUE, FALSE]),
    field("FailureTarget", &["", TRUE, FALSE]),
    field("SuccessCriteriaMet", &["", TRUE, FALSE]),
    field("Suspended", &["", TRUE, FALSE, "True False"]),
    field("acme.io/Other", &["", TRUE, FALSE]),
    Field {
        place: "/status/startTime",
        values: &["", T1, T2],
        usual: 1,
    },
    field("/status/completionTime", &["", T1, T2]),
    field("/status/active", &["", "1", "-1"]),
    field("/status/ready", &["", "0", "1", "-1"]),
    field("/status/terminating", &["", "0", "1", "-1"]),
    field("/status/succeeded", &["", "1", "-1"]),
    field("/status/failed", &["", "1", "-1"]),
    field(
        "/status/uncountedTerminatedPods",
        &[
            "",
            "{}",
            r#"{"succeeded":["a"]}"#,
            r#"{"succeeded":["a"],"failed":["a"]}"#,
            r#"{"failed":[""]}"#,
        ],
    ),
    field(
        "/status/completedIndexes",
        &["", r#""0""#, r#""1""#, r#""0,2""#, r#""x""#],
    ),
    field(
        "/status/failedIndexes",
        &["", r#""""#, r#""0""#, r#""1""#, r#""x""#],
    ),
    field("/spec/completionMode", &[r#""NonIndexed""#, r#""Indexed""#]),
    field("/spec/completions", &["1", "0", "2", ""]),
    field("/spec/parallelism", &["1", "2"]),
    field("/spec/backoffLimitPerIndex", &["", "0"]),
    field("/spec/suspend", &["false", "true"]),
    field(
        "/spec/successPolicy",
        &["", r#"{"rules":[{"succeededCount":1}]}"#],
    ),
    field(
        "/spec/managedBy",
        &[
            r#""acme.io/runner""#,
            r#""kubernetes.io/job-controller""#,
            "",
        ],
    ),
    field(
        "/spec/template/spec/nodeSelector",
        &["", r#"{"pool":"a"}"#, r#"{"pool":"b"}"#],
    ),
];

/// A field with how many of its values are taken.
type Choice = (&'static str, usize);

/// A part of the small world: all pairs of its Jobs.
pub struct World {
    /// Its name in reports.
    pub name: &'static str,
    /// Empty for updates of the main resource.
    pub sub_resource: &'static str,
    /// Fields in which both Jobs of a pair are the same.
    shared: &'static [Choice],
    /// Fields that each of the two has for itself.
    own: &'static [Choice],
    /// Fields with a value that is not the usual one, by its place.
    given: &'static [Choice],
    /// Whether a Job may end in it, if nothing but its status stops it.
    pub may_end: bool,
}

const fn status(name: &'static str, shared: &'static [Choice], own: &'static [Choice]) -> World {
    World {
        name,
        sub_resource: "status",
        shared,
        own,
        given: &[],
        may_end: false,
    }
}

/// All parts. Together they hold every field, and for each rule one of them holds all fields that the rule reads.
pub const WORLDS: [World; 11] = [
    status(
        "conditions",
        &[],
        &[
            ("Complete", 3),
            ("Failed", 3),
            ("FailureTarget", 3),
            ("SuccessCriteriaMet", 3),
            ("Suspended", 3),
            ("acme.io/Other", 3),
        ],
    ),
    World {
        may_end: true,
        ..status(
            "ends",
            &[
                ("/spec/completionMode", 2),
                ("/spec/completions", 2),
                ("/spec/suspend", 2),
                ("/spec/successPolicy", 2),
            ],
            &[
                ("Complete", 2),
                ("Failed", 2),
                ("FailureTarget", 2),
                ("SuccessCriteriaMet", 2),
                ("Suspended", 3),
                ("/status/startTime", 3),
                ("/status/completionTime", 3),
            ],
        )
    },
    World {
        may_end: true,
        ..status(
            "pods",
            &[],
            &[
                ("Complete", 2),
                ("Failed", 2),
                ("FailureTarget", 2),
                ("/status/active", 3),
                ("/status/ready", 4),
                ("/status/terminating", 4),
            ],
        )
    },
    World {
        may_end: true,
        ..status(
            "uncounted",
            &[],
            &[
                ("Complete", 2),
                ("Failed", 2),
                ("FailureTarget", 2),
                ("/status/terminating", 4),
                ("/status/uncountedTerminatedPods", 5),
            ],
        )
    },
    World {
        may_end: true,
        ..status(
            "counts",
            &[
                ("/spec/completionMode", 2),
                ("/spec/completions", 4),
                ("/spec/parallelism", 2),
            ],
            &[
                ("Failed", 2),
                ("FailureTarget", 2),
                ("/status/active", 3),
                ("/status/succeeded", 3),
                ("/status/failed", 3),
            ],
        )
    },
    status(
        "counters",
        &[],
        &[
            ("/status/active", 3),
            ("/status/ready", 4),
            ("/status/terminating", 4),
            ("/status/succeeded", 3),
            ("/status/failed", 3),
        ],
    ),
    status(
        "resume",
        &[("/spec/suspend", 2)],
        &[("Suspended", 4), ("/status/startTime", 3)],
    ),
    World {
        may_end: true,
        ..status(
            "indexes",
            &[
                ("/spec/completionMode", 2),
                ("/spec/completions", 4),
                ("/spec/backoffLimitPerIndex", 2),
            ],
            &[
                ("Failed", 2),
                ("FailureTarget", 2),
                ("/status/completedIndexes", 5),
                ("/status/failedIndexes", 5),
            ],
        )
    },
    // kube-apiserver keeps the old spec on an update of the status, whatever the new Job brings along.
    status(
        "specs",
        &[],
        &[
            ("/spec/completionMode", 2),
            ("/spec/completions", 2),
            ("/spec/suspend", 2),
            ("/spec/successPolicy", 2),
            ("/spec/managedBy", 3),
            ("Complete", 2),
            ("SuccessCriteriaMet", 2),
            ("/status/startTime", 3),
        ],
    ),
    World {
        sub_resource: "",
        ..status(
            "managed-by",
            &[],
            &[
                ("/spec/managedBy", 3),
                ("/spec/suspend", 2),
                ("Complete", 2),
                ("FailureTarget", 2),
                ("/status/startTime", 2),
                ("/status/active", 3),
            ],
        )
    },
    // A template that changes while the Job is not suspended is a known difference.
    World {
        sub_resource: "",
        given: &[("/spec/suspend", 1)],
        ..status(
            "templates",
            &[],
            &[
                ("/spec/template/spec/nodeSelector", 3),
                ("/spec/managedBy", 3),
                ("Suspended", 4),
                ("/status/startTime", 3),
                ("/status/active", 3),
            ],
        )
    },
];

/// A Job of the small world: the place of the value of each field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job([usize; FIELDS.len()]);

fn position(place: &str) -> usize {
    let position = FIELDS.iter().position(|field| field.place == place);
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
        self.value(condition).contains(TRUE)
    }

    /// Whether it is complete or has failed.
    pub fn is_finished(&self) -> bool {
        self.is_true("Complete") || self.is_true("Failed")
    }

    /// The value of a field.
    pub fn value(&self, place: &str) -> &'static str {
        let field = FIELDS.iter().find(|field| field.place == place);
        let value = field.and_then(|field| field.values.get(self.get(place)));
        value.copied().unwrap_or_default()
    }

    /// The Job as kube-apiserver stores it.
    pub fn object(&self) -> Value {
        let mut object = job();
        let mut conditions = Vec::new();
        for field in &FIELDS {
            let value = self.value(field.place);
            if value.is_empty() {
                continue;
            }
            if field.place.starts_with('/') {
                *place(&mut object, field.place) = serde_json::from_str(value).unwrap_or_default();
            } else {
                let entry = |status| json!({"type": field.place, "status": status});
                conditions.extend(value.split(' ').map(entry));
            }
        }
        if !conditions.is_empty() {
            *place(&mut object, "/status/conditions") = conditions.into();
        }
        object
    }

    /// A Job with any value in each field, beside others of the same spec.
    pub fn any(generator: &mut Generator, spec: Option<&Self>) -> Self {
        let mut job = Self([0; FIELDS.len()]);
        for (field, chosen) in FIELDS.iter().zip(&mut job.0) {
            *chosen = match spec {
                Some(spec) if field.place.starts_with("/spec/") => spec.get(field.place),
                _ => {
                    let place = generator.below(field.values.len() as u64);
                    usize::try_from(place).unwrap_or_default()
                }
            };
        }
        job
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
        let usual = Job(FIELDS.each_ref().map(|field| field.usual));
        let given = self.given.iter();
        given.fold(usual, |job, (place, value)| job.with(place, *value))
    }

    /// Its Jobs; each group holds those that are the same in all shared fields. The first of each has no status but what
    /// is usual.
    pub fn groups(&self) -> Vec<Vec<Job>> {
        let with_all = |jobs: Vec<Job>, &(place, count): &Choice| -> Vec<Job> {
            let values = |job: Job| (0..count).map(move |value| job.with(place, value));
            jobs.into_iter().flat_map(values).collect()
        };
        let specs = self.shared.iter().fold(vec![self.usual()], with_all);
        let group = |spec| self.own.iter().fold(vec![spec], with_all);
        specs.into_iter().map(group).collect()
    }

    /// What this part sees of a Job: its own fields, a value that it does not take as the first one, and all else as usual.
    pub fn seen(&self, job: &Job) -> Job {
        let choices = self.shared.iter().chain(self.own);
        choices.fold(self.usual(), |seen, &(place, count)| {
            let value = job.get(place);
            seen.with(place, if value < count { value } else { 0 })
        })
    }
}

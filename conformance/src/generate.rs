//! Status updates of Jobs by the million: most of them a step from legal, some wild.

use serde_json::{Map, Value, json};

use crate::cases::status::status_update;
use crate::vector::Case;

/// How many generated cases are committed as vectors.
const SAMPLE: u64 = 600;

/// The seed of the committed sample.
const SAMPLE_SEED: u64 = 4368;

const INTS: [i64; 8] = [-2_147_483_648, -1, 0, 1, 2, 3, 7, 2_147_483_647];

const TIMES: [&str; 12] = [
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:01:00Z",
    "2026-01-01T00:01:00Z",
    "2026-01-01T00:02:00Z",
    "2026-01-01T01:00:00+01:00",
    "2025-12-31T23:01:00-01:00",
    "2026-01-01T00:00:00.5Z",
    "2026-01-01T00:01:00.000000001Z",
    "2025-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "2024-02-29T12:34:56.789+14:00",
];

const TYPES: [&str; 7] = [
    "Complete",
    "Failed",
    "FailureTarget",
    "SuccessCriteriaMet",
    "Suspended",
    "Complete",
    "Acme",
];

const STATUSES: [&str; 6] = ["True", "True", "True", "False", "Unknown", "true"];

const FRAGMENTS: [&str; 16] = [
    "0",
    "1",
    "2",
    "4",
    "9",
    "10",
    "+3",
    "00",
    "x",
    "",
    " 1",
    "1-2-3",
    "-",
    "99999999999",
    "9223372036854775808",
    "é<&>",
];

const UIDS: [&str; 6] = ["a", "b", "c", "a", "", "<é>"];

const FIELDS: [&str; 11] = [
    "active",
    "succeeded",
    "failed",
    "ready",
    "terminating",
    "startTime",
    "completionTime",
    "completedIndexes",
    "failedIndexes",
    "uncountedTerminatedPods",
    "conditions",
];

/// The committed sample.
pub fn sample() -> Vec<Case> {
    let mut generator = Generator::new(SAMPLE_SEED);
    (0..SAMPLE).map(|n| generator.case(n)).collect()
}

/// A seeded source of cases: `SplitMix64`.
pub struct Generator {
    state: u64,
}

impl Generator {
    /// The same seed gives the same cases.
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

    fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or_default()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = usize::try_from(self.below(from.len() as u64)).unwrap_or_default();
        // The pools are constants and not empty.
        #[expect(clippy::indexing_slicing, reason = "below the length")]
        from[index]
    }

    /// The next case.
    pub fn case(&mut self, number: u64) -> Case {
        let spec = self.spec();
        let (old, mut new) = self.step(&spec);
        let mut old = old;
        for _ in 0..self.pick(&[0, 0, 1, 1, 1, 1, 2, 2, 3, 6]) {
            self.mutate(&mut new);
        }
        if self.one_in(4) {
            self.mutate(&mut old);
            if self.one_in(2) {
                // What was broken before stays broken.
                let field = self.pick(&FIELDS);
                if let Some(value) = old.get(field) {
                    new.insert(field.to_owned(), value.clone());
                }
            }
        }
        status_update(
            format!("generated: {number}"),
            &spec,
            old.into(),
            new.into(),
        )
    }

    fn spec(&mut self) -> Value {
        let mut spec = Map::new();
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if self.one_in(2) {
            set("completionMode", json!("Indexed"));
            set("completions", json!(self.pick(&[0, 1, 3, 5, 10, 10, 10])));
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
        if self.one_in(4) {
            set("suspend", json!(self.pick(&[true, true, false])));
        }
        spec.into()
    }

    /// A status as a controller might have left it, and what it might write next.
    fn step(&mut self, spec: &Value) -> (Map<String, Value>, Map<String, Value>) {
        let indexed = spec.get("completionMode").is_some_and(|m| m == "Indexed");
        let limited = spec.get("backoffLimitPerIndex").is_some();
        let start = "2026-01-01T00:00:00Z";
        let mut phases = vec![
            json!({}),
            json!({"startTime": start}),
            json!({"startTime": start, "active": 3, "ready": 1}),
            json!({"startTime": start, "active": 1, "ready": 1, "succeeded": 1, "failed": 1, "terminating": 1}),
            json!({"startTime": start, "active": 1, "succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}}),
            json!({"startTime": start, "conditions": [{"type": "Suspended", "status": "True"}]}),
            json!({"startTime": "2026-01-01T00:01:00Z", "conditions": [{"type": "Suspended", "status": "False"}]}),
            json!({"startTime": start, "succeeded": 1, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}),
            json!({"startTime": start, "completionTime": "2026-01-01T00:01:00Z", "succeeded": 1, "uncountedTerminatedPods": {},
                "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}),
            json!({"startTime": start, "failed": 1, "terminating": 1, "conditions": [{"type": "FailureTarget", "status": "True"}]}),
            json!({"startTime": start, "failed": 1, "ready": 0, "terminating": 0,
                "conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]}),
        ];
        if indexed {
            for phase in &mut phases {
                if self.one_in(2) {
                    merge(phase, "completedIndexes", self.indexes());
                }
                if limited && self.one_in(2) {
                    merge(phase, "failedIndexes", self.indexes());
                }
            }
        }
        let last = phases.len().saturating_sub(1) as u64;
        let from = self.below(last);
        // Mostly the next phase or the same one; sometimes any.
        let to = match self.below(8) {
            0..4 => from.saturating_add(1),
            4..7 => from,
            _ => self.below(last.saturating_add(1)),
        };
        let phase = |n: u64| {
            let phase = usize::try_from(n).ok().and_then(|n| phases.get(n));
            phase
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        };
        (phase(from), phase(to))
    }

    /// Changes one field of a status to anything.
    fn mutate(&mut self, status: &mut Map<String, Value>) {
        let field = self.pick(&FIELDS);
        if self.one_in(8) {
            status.remove(field);
            return;
        }
        let value = match field {
            _ if self.one_in(24) => Value::Null,
            "startTime" | "completionTime" => json!(self.pick(&TIMES)),
            "completedIndexes" | "failedIndexes" => json!(self.indexes()),
            "uncountedTerminatedPods" => self.uncounted(),
            "conditions" => self.conditions(status.get("conditions")),
            _ => json!(self.pick(&INTS)),
        };
        status.insert(field.to_owned(), value);
    }

    /// Intervals in order, as a rule; else anything.
    fn indexes(&mut self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if self.one_in(4) {
            for _ in 0..self.below(4) {
                let first = self.pick(&FRAGMENTS);
                let last = self.pick(&FRAGMENTS);
                parts.push(if self.one_in(2) {
                    first.to_owned()
                } else {
                    format!("{first}-{last}")
                });
            }
        } else {
            let mut next = self.below(3);
            while next < 10 {
                let last = next.saturating_add(self.below(3));
                parts.push(if last > next {
                    format!("{next}-{last}")
                } else {
                    next.to_string()
                });
                next = last.saturating_add(1).saturating_add(self.below(4));
                if self.one_in(3) {
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
            let uids: Vec<_> = (0..self.below(4)).map(|_| self.pick(&UIDS)).collect();
            pods.insert(list.to_owned(), json!(uids));
        }
        pods.into()
    }

    /// The conditions with one entry added, changed or removed.
    fn conditions(&mut self, now: Option<&Value>) -> Value {
        let mut list = now.and_then(Value::as_array).cloned().unwrap_or_default();
        let entry = json!({"type": self.pick(&TYPES), "status": self.pick(&STATUSES)});
        let at = usize::try_from(self.below(list.len() as u64)).unwrap_or_default();
        match self.below(3) {
            0 if !list.is_empty() => drop(list.remove(at)),
            1 if !list.is_empty() => drop(list.get_mut(at).map(|e| *e = entry)),
            _ => list.push(entry),
        }
        list.into()
    }
}

fn merge(object: &mut Value, key: &str, value: String) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value.into());
    }
}

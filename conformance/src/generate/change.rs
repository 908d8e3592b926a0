//! Requests with something else in a few places, for the doors of `make doors`.

use serde_json::Value;

use super::{FIELDS, Generator};

/// What may stand anywhere in an object, or not at all: values of each type, and texts that rules look for or print.
const ANYTHING: [&str; 26] = [
    "null",
    "true",
    "-1",
    "0",
    "3",
    "1.0",
    "4294967296",
    "1e300",
    "[]",
    "[null]",
    "[{\"type\":\"Failed\",\"status\":\"True\"}]",
    "{}",
    "{\"\":\"\"}",
    "{\"managedBy\":\"acme.io/x\"}",
    "\"\"",
    "\"True\"",
    "\"Failed\"",
    "\"Succeeded\"",
    "\"acme.io/runner\"",
    "\"kueue.x-k8s.io/multikueue\"",
    "\"kueue.x-k8s.io/multikeue\"",
    "\"kubernetes.io/job-controller\"",
    "\"2026-01-01T00:00:00Z\"",
    "\"2026-01-01T00:00:00.5+01:00\"",
    "\"<é>&\\u2028\\u0000\\\"\\\\\"",
    "\"😀 a text of more than one line\\nthat a rule may print as a value\"",
];

impl Generator {
    /// Puts something else into a few places of a request's objects: anything, what the other object has there, or nothing.
    pub fn change(&mut self, request: &mut Value) {
        for _ in 0..self.pick(&[1, 1, 2, 4]) {
            let (side, other) = self.pick(&[("/object", "/oldObject"), ("/oldObject", "/object")]);
            let part = self.pick(&["/spec", "/status", "/status", "/metadata"]);
            let path = self.path_below(request, format!("{side}{part}"));
            let same_place = path.replacen(side, other, 1);
            let there = request.pointer(&same_place).cloned();
            let anything = serde_json::from_str(self.pick(&ANYTHING)).unwrap_or_default();
            let key = if self.one_in(2) {
                "managedBy"
            } else {
                self.pick(&FIELDS)
            };
            let way = self.below(6);
            if way == 0
                && let Some((parent, key)) = path.rsplit_once('/')
                && let Some(Value::Object(members)) = request.pointer_mut(parent)
            {
                members.remove(key);
                continue;
            }
            match (way, request.pointer_mut(&path)) {
                (1, Some(value)) => *value = there.unwrap_or_default(),
                (2 | 3, Some(Value::Object(members))) => {
                    members.insert(key.to_owned(), anything);
                }
                (_, Some(value)) => *value = anything,
                (_, None) => {}
            }
        }
    }

    /// The path of a value somewhere in a part of a document, as a JSON pointer.
    fn path_below(&mut self, document: &Value, part: String) -> String {
        let mut path = part;
        loop {
            let keys: Vec<String> = match document.pointer(&path) {
                Some(Value::Object(members)) => members.keys().cloned().collect(),
                Some(Value::Array(items)) => {
                    (0..items.len()).map(|index| index.to_string()).collect()
                }
                _ => return path,
            };
            if keys.is_empty() || self.one_in(4) {
                return path;
            }
            let key = self.one_of(&keys).replace('~', "~0").replace('/', "~1");
            path = format!("{path}/{key}");
        }
    }
}

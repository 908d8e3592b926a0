//! Mutates requests, for `make differential-test`.

use serde_json::Value;

use super::{Generator, VALUES};

impl Generator {
    /// Mutates a few values in a request's objects: sets a value, copies it from the other object, or removes it.
    pub fn mutate_request(&mut self, request: &mut Value) {
        for _ in 0..self.pick(&[1, 1, 2, 4]) {
            let (side, other) = self.pick(&[("/object", "/oldObject"), ("/oldObject", "/object")]);
            let part = self.pick(&["/spec", "/status", "/status", "/metadata"]);
            let path = self.path_below(request, format!("{side}{part}"));
            let other_path = path.replacen(side, other, 1);
            let other_value = request.pointer(&other_path).cloned();
            let anything = self.one_of(&VALUES.anything).clone();
            let key = if self.one_in(2) {
                "managedBy"
            } else {
                self.one_of(&VALUES.fields)
            };
            let mutation = self.below(6);
            if mutation == 0
                && let Some((parent, key)) = path.rsplit_once('/')
                && let Some(Value::Object(members)) = request.pointer_mut(parent)
            {
                members.remove(key);
                continue;
            }
            match (mutation, request.pointer_mut(&path)) {
                (1, Some(value)) => *value = other_value.unwrap_or_default(),
                (2 | 3, Some(Value::Object(members))) => {
                    members.insert(key.to_owned(), anything);
                }
                (_, Some(value)) => *value = anything,
                (_, None) => {}
            }
        }
    }

    /// Picks a value in a part of a document and returns its JSON pointer.
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

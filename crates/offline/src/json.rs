//! Splits JSON values into borrowed texts, so that their positions in the input remain known. `serde_json` does the
//! parsing.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::named::Named;

/// Initial capacity: most parsed objects have no more members.
const USUAL: usize = 16;

/// Members of an object in source order, names and values as raw JSON.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Members<'a> {
    /// Parses a text that is a single object.
    pub(crate) fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Iterates over the members with decoded names. A name that is not valid Unicode becomes empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
        let members = self.0.iter();
        members.map(|(name, value)| (string(name).unwrap_or_default(), *value))
    }

    /// Returns an index from name to position, for many lookups. If a name occurs twice, the last one wins.
    pub(crate) fn places(&self) -> Named<'a, usize> {
        let mut places = Named::default();
        for (place, (name, _)) in self.iter().enumerate() {
            places.insert(name, place);
        }
        places
    }

    /// Returns the raw name and value at a position.
    pub(crate) fn at(&self, place: usize) -> Option<(&'a str, &'a str)> {
        self.0.get(place).copied()
    }

    /// Returns the raw name and value of a member. If a name occurs twice, the last one wins.
    pub(crate) fn find(&self, name: &str) -> Option<(&'a str, &'a str)> {
        let mut members = self.0.iter().rev();
        let found = members.find(|(known, _)| string(known).is_some_and(|known| known == name));
        found.copied()
    }

    /// Returns the value of a member, unless it is missing or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let value = self.find(name).map(|(_, value)| value);
        value.filter(|value| *value != "null")
    }

    /// Returns the members of a nested object; empty if the value is not an object.
    pub(crate) fn object(&self, name: &str) -> Self {
        self.get(name).and_then(Self::of).unwrap_or_default()
    }

    /// Returns the value of a string member.
    pub(crate) fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(string)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(USUAL);
                while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push((name.get(), value.get()));
                }
                Ok(Members(members))
            }
        }
        json.deserialize_map(Object)
    }
}

/// Splits an array into its elements, as raw JSON.
pub(crate) fn elements(json: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

/// Decodes a JSON string.
pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    let body = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', body.as_bytes()).is_some() {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(body))
}

/// Formats a `serde_json` error without its position.
pub(crate) fn what(text: &str, error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    if error.is_data() {
        return "not JSON: expected an object".to_owned();
    }
    // If the control character is the line end, the string is unterminated.
    if said.starts_with("control character") && is_at_line_end(text, error) {
        return "not JSON: a string without an end".to_owned();
    }
    format!("not JSON: {said}")
}

fn is_at_line_end(text: &str, error: &serde_json::Error) -> bool {
    let mut lines = text.split('\n');
    let line = lines.nth(error.line().saturating_sub(1));
    let length = line.map_or(0, |line| line.trim_end_matches('\r').len());
    error.column() == 0 || error.column() >= length
}

#[cfg(test)]
mod tests {
    use super::{Members, elements, string, what};

    #[test]
    fn members_are_handed_out_as_text() {
        for (json, expected) in [
            ("{}", Some(vec![])),
            (
                " {\"a\": 1 ,\"b\":\"}\"} ",
                Some(vec![("a", "1"), ("b", "\"}\"")]),
            ),
            (
                "{\"a\\n\":{\"b\":[{}]}}",
                Some(vec![("a\n", "{\"b\":[{}]}")]),
            ),
            (
                "{\"a\":\"x\\\"}\",\"a\":\"\\\\\"}",
                Some(vec![("a", "\"x\\\"}\""), ("a", "\"\\\\\"")]),
            ),
            (
                "{\"a\":true,\"b\": -1.5e3\n}",
                Some(vec![("a", "true"), ("b", "-1.5e3")]),
            ),
            ("[]", None),
            ("", None),
            ("{} {}", None),
            ("{\"a\":1", None),
            ("{\"a\":t}", None),
            ("{\"a\" 1}", None),
            ("{\"a\":1,}", None),
        ] {
            let members = Members::of(json);
            let members = members.as_ref().map(|all| all.iter().collect::<Vec<_>>());
            let members = members.as_ref().map(|all| {
                let all = all.iter().map(|(name, value)| (&**name, *value));
                all.collect::<Vec<_>>()
            });
            assert_eq!(members, expected, "{json}");
        }
    }

    #[test]
    fn of_two_members_the_last_counts() {
        let members = Members::of("{\"a\":1,\"b\":null,\"a\":\"x\"}").unwrap();
        assert_eq!(members.get("a"), Some("\"x\""));
        assert_eq!(members.string("a").as_deref(), Some("x"));
        assert_eq!(members.find("b"), Some(("\"b\"", "null")));
        assert_eq!((members.get("b"), members.get("c")), (None, None));
    }

    #[test]
    fn elements_are_handed_out_as_text() {
        assert_eq!(elements("[1, {\"a\":[]}]"), Some(vec!["1", "{\"a\":[]}"]));
        assert_eq!(elements("{}"), None);
    }

    #[test]
    fn only_strings_are_strings() {
        assert_eq!(string("\"a\\u0062\"").as_deref(), Some("ab"));
        assert_eq!(string("\"\\ud800\""), None);
        assert_eq!(string("1"), None);
    }

    #[test]
    fn trouble_is_in_the_words_of_serde_json() {
        for (json, expected) in [
            ("{\"a\":\"b\n", "not JSON: a string without an end"),
            ("{\"a\":\"b\r\n}", "not JSON: a string without an end"),
            ("{\"a\n", "not JSON: a string without an end"),
            ("\"a\n", "not JSON: a string without an end"),
            (
                "{\"a\":\"b\tc\"}",
                "not JSON: control character (\\u0000-\\u001F) found while parsing a string",
            ),
            ("]", "not JSON: expected value"),
            ("[]", "not JSON: expected an object"),
        ] {
            let error = serde_json::from_str::<Members<'_>>(json).unwrap_err();
            assert_eq!(what(json, &error), expected, "{error}");
        }
    }
}

//! Splits JSON values into raw texts that borrow from the input, so that their positions remain known. `serde_json` does
//! the parsing.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Initial capacity: most parsed objects have no more members.
const USUAL_MEMBERS: usize = 16;

/// Members of an object in source order, names and values as raw JSON.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Members<'a> {
    /// Parses a text that is a single object.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(crate) fn raw(&self) -> &[(&'a str, &'a str)] {
        &self.0
    }

    /// Iterates over the members with decoded names. A name that is not valid Unicode becomes empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
        let members = self.0.iter();
        members.map(|(name, value)| (string(name).unwrap_or_default(), *value))
    }

    /// Returns the value of a member, unless it is missing or null. If a name occurs twice, the last one wins.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let mut members = self.0.iter().rev();
        let (_, value) = members.find(|(raw, _)| string(raw).is_some_and(|raw| raw == name))?;
        Some(*value).filter(|value| *value != "null")
    }

    /// Returns the members of a nested object; empty if the value is not an object.
    pub(crate) fn object(&self, name: &str) -> Self {
        self.get(name).and_then(Self::parse).unwrap_or_default()
    }

    pub(crate) fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(string)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(USUAL_MEMBERS);
                while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push((name.get(), value.get()));
                }
                Ok(Members(members))
            }
        }
        json.deserialize_map(ObjectVisitor)
    }
}

/// Splits an array into its elements, as raw JSON.
pub(crate) fn elements(json: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    let body = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', body.as_bytes()).is_some() {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(body))
}

pub(crate) fn quoted(text: &str) -> String {
    // Serializing a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns true if two values are equal, whatever their layout and the order of their members. Texts of different lengths
/// are only parsed if one has several lines, because an API server always writes a value in the same layout.
pub(crate) fn is_equal(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return a.is_none() && b.is_none();
    };
    if a == b || a.len() != b.len() && !a.contains('\n') && !b.contains('\n') {
        return a == b;
    }
    let parse = serde_json::from_str::<Value>;
    matches!((parse(a), parse(b)), (Ok(a), Ok(b)) if a == b)
}

/// Error about JSON that is neither an object nor a record.
pub(crate) const NO_RECORD: &str = "expected an object, a watch event or an audit event; decode or cut out its JSON, such as with `jq -r '.message.data | @base64d'`";

/// Formats a `serde_json` error without its position.
pub(crate) fn error_text(error: &serde_json::Error) -> String {
    if error.is_data() {
        return NO_RECORD.to_owned();
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {text}")
}

#[cfg(test)]
mod tests {
    use super::{Members, is_equal, string};

    #[test]
    fn members_are_raw_text() {
        let members = Members::parse(r#" {"a\n": 1 ,"b":{"c":["}"]}} "#).unwrap();
        let members: Vec<_> = members.iter().collect();
        let expected = [("a\n".into(), "1"), ("b".into(), r#"{"c":["}"]}"#)];
        assert_eq!(members, expected);
        for json in ["[]", "{} {}"] {
            assert!(Members::parse(json).is_none(), "{json}");
        }
    }

    #[test]
    fn last_duplicate_member_wins() {
        let members = Members::parse("{\"a\":1,\"b\":null,\"a\":\"x\"}").unwrap();
        assert_eq!(members.get("a"), Some("\"x\""));
        assert_eq!(members.string("a").as_deref(), Some("x"));
        assert_eq!((members.get("b"), members.get("c")), (None, None));
    }

    #[test]
    fn only_strings_are_decoded() {
        assert_eq!(string("\"a\\u0062\"").as_deref(), Some("ab"));
        assert_eq!(string("\"\\ud800\""), None);
        assert_eq!(string("1"), None);
    }

    #[test]
    fn equality_ignores_layout_and_order() {
        for (a, b, expected) in [
            (None, None, true),
            (Some("{}"), None, false),
            (Some("{\"a\":1}"), Some("{\"a\":1}"), true),
            (Some("{\"a\":1}"), Some("{\"a\":2}"), false),
            (Some("{\"a\":1}"), Some("{\n  \"a\": 1\n}"), true),
            (Some("{\"a\":1,\"b\":2}"), Some("{\"b\":2,\"a\":1}"), true),
            (
                Some("{\"a\":1,\"b\":2}"),
                Some("{\n\"b\":2,\n\"a\":1}"),
                true,
            ),
            (Some("{\"a\":1}"), Some("{\"a\":1,\"b\":2}"), false),
        ] {
            assert_eq!(is_equal(a, b), expected, "{a:?} {b:?}");
        }
    }
}

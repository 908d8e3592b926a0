//! Taking JSON apart without reading it: the members of an object, each as its text.
//!
//! With the feature `fast` by `sonic-rs`, which passes over text several times faster than `serde_json`. What is judged is read
//! by the library, which takes no text that `serde_json` does not.

use std::borrow::Cow;

/// Text that is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoObject;

/// Hands out the members of the object that a text begins with, and returns the text behind it.
#[cfg(feature = "fast")]
pub(crate) fn members<'a>(
    json: &'a str,
    mut each: impl FnMut(Cow<'a, str>, &'a str),
) -> Result<&'a str, NoObject> {
    let mut behind = None;
    for member in sonic_rs::to_object_iter(json) {
        let (key, value) = member.map_err(|_| NoObject)?;
        let Cow::Borrowed(value) = value.as_raw_cow() else {
            return Err(NoObject);
        };
        let value = value.trim_ascii();
        behind = Some(value);
        each(key, value);
    }
    rest(json, behind)
}

/// Hands out the members of the object that a text begins with, and returns the text behind it.
#[cfg(not(feature = "fast"))]
pub(crate) fn members<'a>(
    json: &'a str,
    each: impl FnMut(Cow<'a, str>, &'a str),
) -> Result<&'a str, NoObject> {
    use serde::Deserializer as _;

    let mut last = None;
    let visitor = visit::Members(each, &mut last);
    let mut reading = serde_json::Deserializer::from_str(json);
    reading.deserialize_map(visitor).map_err(|_| NoObject)?;
    rest(json, last)
}

/// A member of the object that a text is, unless it is null.
pub(crate) fn member<'a>(json: &'a str, wanted: &str) -> Option<&'a str> {
    let mut found = None;
    let read = members(json, |name, value| {
        if name == wanted {
            found = Some(value);
        }
    });
    read.ok()?;
    found.filter(|value| *value != "null")
}

/// The text behind the object whose last value is known.
fn rest<'a>(json: &'a str, last: Option<&str>) -> Result<&'a str, NoObject> {
    let end = match last {
        Some(last) => crate::document::offset_in(json, last).checked_add(last.len()),
        None => json.find('{'),
    };
    let behind = end.and_then(|end| json.get(end..)).ok_or(NoObject)?;
    let (_, behind) = behind.split_once('}').ok_or(NoObject)?;
    Ok(behind)
}

#[cfg(not(feature = "fast"))]
mod visit {
    use std::borrow::Cow;
    use std::fmt;

    use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
    use serde_json::value::RawValue;

    pub(super) struct Members<'l, 'de, F>(pub(super) F, pub(super) &'l mut Option<&'de str>);

    impl<'de, F: FnMut(Cow<'de, str>, &'de str)> Visitor<'de> for Members<'_, 'de, F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                *self.1 = Some(value.get());
                (self.0)(key, value.get());
            }
            Ok(())
        }
    }

    struct Key<'de>(Cow<'de, str>);

    impl<'de> Deserialize<'de> for Key<'de> {
        fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
            struct Text;
            impl<'de> Visitor<'de> for Text {
                type Value = Key<'de>;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a string")
                }
                fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                    Ok(Key(Cow::Borrowed(text)))
                }
                fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                    Ok(Key(Cow::Owned(text.to_owned())))
                }
            }
            json.deserialize_str(Text)
        }
    }
}

/// The string that a JSON value is.
pub(crate) fn string(json: &str) -> Option<Cow<'_, str>> {
    let body = json.strip_prefix('"')?.strip_suffix('"')?;
    if body.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(body))
}

/// Why a text is not JSON, and how many lines are before the place. [`None`] if it is.
pub(crate) fn trouble(text: &str) -> Option<(usize, String)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let error = values.find_map(Result::err)?;
    // A string that was cut is noticed behind the end of its line.
    let past = usize::from(error.is_syntax() && error.column() == 0);
    let before = error.line().saturating_sub(past).saturating_sub(1);
    let text = error.to_string();
    let text = match text.split(" at line ").next().unwrap_or_default() {
        // The words of serde_json are about a character that nobody sees.
        text if text.starts_with("control character") => "a string without an end",
        text => text,
    };
    Some((before, format!("not JSON: {text}")))
}

#[cfg(test)]
mod tests {
    use super::{NoObject, members, trouble};

    fn all(json: &str) -> Result<(Vec<(String, &str)>, &str), NoObject> {
        let mut found = Vec::new();
        let rest = members(json, |key, value| found.push((key.into_owned(), value)))?;
        Ok((found, rest))
    }

    #[test]
    fn members_are_handed_out_as_text() {
        let pair = |key: &str, value: &'static str| (key.to_owned(), value);
        for (json, expected) in [
            ("{}", Ok((vec![], ""))),
            (" { } x", Ok((vec![], " x"))),
            (
                "{\"a\": 1 ,\"b\":\"}\"} {",
                Ok((vec![pair("a", "1"), pair("b", "\"}\"")], " {")),
            ),
            (
                "{\"a\\n\":{\"b\":[{}]}}",
                Ok((vec![pair("a\n", "{\"b\":[{}]}")], "")),
            ),
            ("[]", Err(NoObject)),
            ("", Err(NoObject)),
            ("{\"a\":", Err(NoObject)),
            ("{\"a\":1", Err(NoObject)),
            ("{\"a", Err(NoObject)),
        ] {
            assert_eq!(all(json), expected, "{json}");
        }
    }

    #[test]
    fn trouble_is_in_the_words_of_serde_json() {
        assert_eq!(trouble("{\"a\":1}\n{}"), None);
        let cut = "not JSON: a string without an end".to_owned();
        assert_eq!(trouble("{\"a\":\"b\n"), Some((0, cut)));
        let (line, text) = trouble("{}\n]").unwrap();
        assert_eq!((line, &*text), (1, "not JSON: expected value"));
    }
}

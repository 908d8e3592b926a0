//! JSON documents: `serde_json` reads them, and borrowed values tell where they stand.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::offset_in;
use crate::path::{Path, Segment};
use crate::trouble::Trouble;

/// The values of a text that holds JSON values one after another.
pub(super) fn values<'t>(text: &str, part: &'t str) -> Result<Vec<&'t str>, Trouble> {
    let mut values = Vec::new();
    for value in Deserializer::from_str(part).into_iter::<&'t RawValue>() {
        match value {
            Ok(value) => values.push(value.get()),
            Err(e) => return Err(trouble(text, part, &e)),
        }
    }
    Ok(values)
}

/// The error of `serde_json`, which counts lines from the start of the part, at its place in the text.
fn trouble(text: &str, part: &str, error: &serde_json::Error) -> Trouble {
    let lines = part
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let line_start = lines.fold(0_usize, |sum, line| sum.saturating_add(line.len()));
    let offset = offset_in(text, part)
        .saturating_add(line_start)
        .saturating_add(error.column().saturating_sub(1));
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default();
    Trouble::in_text(text, offset, format!("not JSON: {what}"))
}

/// Where the value at a path of a JSON value stands in the text, or the nearest value around it; and whether it was found.
pub(super) fn find(text: &str, json: &str, path: &Path, is_key: bool) -> (Range<usize>, bool) {
    let mut value = json;
    let mut key = json;
    let mut is_exact = true;
    for segment in path.segments() {
        let mut inner = Deserializer::from_str(value);
        let found = inner.deserialize_any(Find(segment)).ok().flatten();
        let Some((found_key, found)) = found else {
            is_exact = false;
            break;
        };
        value = found.get();
        key = found_key.unwrap_or(value);
    }
    let shown = if is_key { key } else { value };
    let start = offset_in(text, shown);
    (start..start.saturating_add(shown.len()), is_exact)
}

/// Finds the member or the element of one step, and its key.
struct Find<'s>(&'s Segment);

type Found<'de> = Option<(Option<&'de str>, &'de RawValue)>;

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Key<'de>>()? {
            let value: &RawValue = map.next_value()?;
            // Of members given twice the last counts.
            if key.0 == self.0.key() {
                let key = match key.0 {
                    Cow::Borrowed(key) => Some(key),
                    Cow::Owned(_) => None,
                };
                found = Some((key, value));
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Found<'de>, A::Error> {
        let mut found = None;
        let mut index = 0_usize;
        while let Some(value) = elements.next_element::<&RawValue>()? {
            if self.0.index() == Some(index) {
                found = Some((None, value));
            }
            index = index.saturating_add(1);
        }
        Ok(found)
    }
}

struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        json.deserialize_str(Text).map(Self)
    }
}

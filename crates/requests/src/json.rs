//! Taking JSON apart without reading it: the members of an object, each as its text.
//!
//! What is judged is read by the library, with `serde_json`. Here values are only passed over, from quote to quote and from
//! bracket to bracket, which takes a fifth of what `serde_json` takes for it: of a long history this is what the time goes to.

use std::borrow::Cow;

/// Text that is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoObject;

/// Hands out the members of the object that a text begins with, and returns the text behind it.
pub(crate) fn members<'a>(
    json: &'a str,
    mut each: impl FnMut(Cow<'a, str>, &'a str),
) -> Result<&'a str, NoObject> {
    let mut rest = json.trim_ascii_start().strip_prefix('{').ok_or(NoObject)?;
    rest = rest.trim_ascii_start();
    if let Some(behind) = rest.strip_prefix('}') {
        return Ok(behind);
    }
    loop {
        let (key, behind) = rest
            .split_at_checked(string_end(rest).ok_or(NoObject)?)
            .ok_or(NoObject)?;
        let behind = behind
            .trim_ascii_start()
            .strip_prefix(':')
            .ok_or(NoObject)?;
        let behind = behind.trim_ascii_start();
        let (value, behind) = behind
            .split_at_checked(value_end(behind).ok_or(NoObject)?)
            .ok_or(NoObject)?;
        each(string(key).ok_or(NoObject)?, value);
        rest = behind.trim_ascii_start();
        if let Some(next) = rest.strip_prefix(',') {
            rest = next.trim_ascii_start();
        } else {
            return rest.strip_prefix('}').ok_or(NoObject);
        }
    }
}

/// How long the value is that a text begins with.
fn value_end(json: &str) -> Option<usize> {
    let bytes = json.as_bytes();
    match bytes.first()? {
        b'"' => string_end(json),
        b'{' | b'[' => brackets_end(json),
        _ => {
            let ends =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
            let end = bytes.iter().position(ends).unwrap_or(bytes.len());
            Some(end).filter(|end| *end > 0)
        }
    }
}

/// How long the object or array is that a text begins with.
fn brackets_end(json: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0_usize;
    loop {
        let rest = json.as_bytes().get(at..)?;
        let counts = |byte: &u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']');
        let next = rest.iter().position(counts)?;
        at = at.checked_add(next)?;
        match rest.get(next)? {
            b'"' => at = at.checked_add(string_end(json.get(at..)?)?)?,
            b'{' | b'[' => {
                depth = depth.checked_add(1)?;
                at = at.checked_add(1)?;
            }
            _ => {
                depth = depth.checked_sub(1)?;
                at = at.checked_add(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
}

/// How long the string is that a text begins with, quotes included.
fn string_end(json: &str) -> Option<usize> {
    let bytes = json.as_bytes();
    if bytes.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1_usize;
    loop {
        let rest = bytes.get(at..)?;
        let quote = memchr::memchr(b'"', rest)?;
        // A quote behind an odd number of backslashes is part of the string.
        let before = rest.get(..quote)?.iter().rev();
        let backslashes = before.take_while(|byte| **byte == b'\\').count();
        at = at.checked_add(quote)?.checked_add(1)?;
        if backslashes % 2 == 0 {
            return Some(at);
        }
    }
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

/// Some members of the object that a text is, each unless it is missing or null. [`None`] for what is not JSON, and where one of
/// them comes twice: nobody knows which one counts. A type with `Deserialize` says the same, in over a kilobyte of the module.
pub(crate) fn some<'a, const N: usize>(
    json: &'a str,
    wanted: [&str; N],
) -> Option<[Option<&'a str>; N]> {
    if trouble(json).is_some() {
        return None;
    }
    let mut found = [None; N];
    let mut is_twice = false;
    let rest = members(json, |name, value| {
        let places = wanted.iter().zip(&mut found);
        for (_, place) in places.filter(|(wanted, _)| **wanted == name) {
            is_twice |= place.replace(value).is_some();
        }
    });
    let is_whole = rest.ok()?.trim_ascii().is_empty();
    (is_whole && !is_twice).then(|| found.map(|value| value.filter(|value| *value != "null")))
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
    use super::{NoObject, members, some, trouble};

    /// Members, and the text behind them.
    type All<'a> = (Vec<(String, &'a str)>, &'a str);

    fn all(json: &str) -> Result<All<'_>, NoObject> {
        let mut found = Vec::new();
        let rest = members(json, |key, value| found.push((key.into_owned(), value)))?;
        Ok((found, rest))
    }

    #[test]
    fn members_that_are_wanted_come_once() {
        for (json, expected) in [
            ("{\"b\": [1], \"c\": 2}", Some([None, Some("[1]")])),
            ("{\"a\": \"x\", \"b\": null}", Some([Some("\"x\""), None])),
            ("{}", Some([None, None])),
            ("{\"a\": null, \"a\": null}", None),
            ("{\"c\": 1, \"c\": 1}", Some([None, None])),
            ("{\"c\": tru}", None),
            ("{} {}", None),
            ("[1]", None),
            ("null", None),
        ] {
            assert_eq!(some(json, ["a", "b"]), expected, "{json}");
        }
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
            (
                "{\"a\":\"x\\\"}\",\"b\":\"\\\\\"}",
                Ok((vec![pair("a", "\"x\\\"}\""), pair("b", "\"\\\\\"")], "")),
            ),
            (
                "{\"a\":true,\"b\": -1.5e3\n}",
                Ok((vec![pair("a", "true"), pair("b", "-1.5e3")], "")),
            ),
            ("{\"a\":,\"b\":1}", Err(NoObject)),
            ("{\"a\" 1}", Err(NoObject)),
            ("{\"a\":1,}", Err(NoObject)),
            ("{\"a\":[}", Err(NoObject)),
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

use proptest::prelude::*;
use serde_json::Value;

use super::{MAX_DEPTH, Reader, Result, Type};

/// Reads a whole document with the typed methods alone.
fn tree(reader: &mut Reader<'_>) -> Result<Value> {
    Ok(match reader.peek()? {
        Type::Object => {
            let mut map = serde_json::Map::new();
            reader.object(|reader, key| {
                map.insert(String::from_utf8(key.to_vec()).unwrap(), tree(reader)?);
                Ok(())
            })?;
            map.into()
        }
        Type::Array => {
            let mut list = Vec::new();
            reader.array(|reader, index| {
                assert_eq!(index, list.len());
                list.push(tree(reader)?);
                Ok(())
            })?;
            list.into()
        }
        Type::String => reader.string()?.into_owned().into(),
        Type::Number | Type::Bool | Type::Null => serde_json::from_slice(reader.raw()?).unwrap(),
    })
}

fn skip(bytes: &[u8]) -> Result<()> {
    let mut reader = Reader::new(bytes)?;
    reader.skip()?;
    reader.end()
}

fn message(bytes: &[u8]) -> String {
    skip(bytes).unwrap_err().to_string()
}

#[test]
fn what_is_not_json_is_refused_wherever_it_stands() {
    for (text, expected) in [
        ("", "a value at byte 0"),
        ("nul", "null at byte 0"),
        ("tru ", "true at byte 0"),
        ("[1,]", "a value at byte 3"),
        ("[1 2]", "`,` or `]` at byte 3"),
        ("[1}", "`,` or `]` at byte 2"),
        ("{\"a\":1]", "`,` or `}` at byte 6"),
        ("{\"a\" 1}", "`:` at byte 5"),
        ("{a:1}", "a key at byte 1"),
        ("{\"a\":1,}", "a key at byte 7"),
        ("01", "the end at byte 1"),
        ("-", "a digit at byte 1"),
        ("1.", "a digit at byte 2"),
        ("1e+", "a digit at byte 3"),
        ("+1", "a value at byte 0"),
        ("\"a", "the end of a string at byte 2"),
        ("\"a\nb\"", "no control character in a string at byte 2"),
        ("\"\\x\"", "an escape sequence at byte 2"),
        ("\"\\u12g4\"", "four hexadecimal digits at byte 5"),
        ("{} {}", "the end at byte 3"),
        ("'a'", "a value at byte 0"),
    ] {
        assert_eq!(
            message(text.as_bytes()),
            format!("not JSON: expected {expected}"),
            "{text}"
        );
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    }
    assert_eq!(message(b"\"ab\xff\""), "not JSON: expected UTF-8 at byte 3");
}

#[test]
fn nesting_ends_where_the_api_server_s_does() {
    let nested = |n: usize| [b"[".repeat(n), b"]".repeat(n)].concat();
    assert_eq!(skip(&nested(MAX_DEPTH)), Ok(()));
    assert_eq!(
        message(&nested(MAX_DEPTH + 1)),
        "not JSON: expected at most 10,000 levels of nesting at byte 10000"
    );
    assert_eq!(
        skip(&[b"{\"a\":[".repeat(100), b"]}".repeat(100)].concat()),
        Ok(())
    );
}

#[test]
fn strings_decode_as_in_go() {
    for (text, decoded) in [
        (r#""plain""#, "plain"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u0041\u00e9\u20AC""#, "Aé€"),
        (r#""\ud83d\ude42""#, "🙂"),
        (r#""\udbff\udfff""#, "\u{10ffff}"),
        (r#""\ud800\udc00""#, "\u{10000}"),
        // Go puts U+FFFD for a surrogate without its other half, and reads on right behind it.
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ud83dx""#, "\u{fffd}x"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ude42\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""\ud83d\ud83d\ude42""#, "\u{fffd}🙂"),
    ] {
        assert_eq!(
            Reader::new(text.as_bytes()).unwrap().string().unwrap(),
            decoded,
            "{text}"
        );
        assert_eq!(skip(text.as_bytes()), Ok(()), "{text}");
    }
}

#[test]
fn a_wrong_type_is_told_with_its_path() {
    let read = |text: &'static str| {
        let mut reader = Reader::new(text.as_bytes()).unwrap();
        let read = reader.object(|reader, _| reader.string().map(drop).map_err(|e| e.within("b")));
        read.map_err(|e| e.within("a")).unwrap_err().to_string()
    };
    assert_eq!(read(r#"{"b":[]}"#), "a.b: expected a string, got an array");
    assert_eq!(read("1"), "a: expected an object, got a number");
    assert_eq!(
        read(r#"{"b":tru}"#),
        "a.b: expected a string, got a boolean"
    );
}

#[test]
fn a_value_can_be_read_twice() {
    let mut reader = Reader::new(br#"{"a":{"b":[1,{}]},"c":2}"#).unwrap();
    let mut raw = Vec::new();
    reader
        .object(|reader, _| {
            let mark = reader.mark();
            raw.push(reader.raw()?);
            reader.rewind(mark);
            raw.push(reader.raw()?);
            Ok(())
        })
        .unwrap();
    let object: &[u8] = br#"{"b":[1,{}]}"#;
    assert_eq!(raw, [object, object, b"2", b"2"]);
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..8)
                .prop_map(|map| map.into_iter().collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_writes(value in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        prop_assert_eq!(skip(text.as_bytes()), Ok(()));
        prop_assert_eq!(tree(&mut Reader::new(text.as_bytes()).unwrap()), Ok(value));
    }

    /// Of any bytes, the reader takes what serde_json takes, but for lone surrogates, which Go replaces, and numbers
    /// out of a float's range, which are not read here.
    #[test]
    fn takes_what_serde_json_takes(
        text in r#"([\[\]{}:, \n]|"(a|\\|"|\\u00e9|é)*"?|-?[01.eE+]{1,4}|null|true|fals?e)*"#
    ) {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(skip(text.as_bytes()).is_ok(), theirs, "{}", text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = skip(&bytes);
        if let Ok(mut reader) = Reader::new(&bytes) {
            let _ = tree(&mut reader);
        }
    }

    /// The scan of eight bytes at a time finds what a scan of single bytes would.
    #[test]
    fn strings_end_where_they_should(before in "[ -~é🙂]{0,40}", after in "[ -~]{0,20}") {
        let quoted = serde_json::to_string(&before).unwrap();
        let text = format!("[{quoted},\"{}\"]", after.replace(['"', '\\'], ""));
        let mut reader = Reader::new(text.as_bytes()).unwrap();
        let mut first = None;
        reader.array(|reader, index| {
            let string = reader.string()?;
            if index == 0 {
                first = Some(string.into_owned());
            }
            Ok(())
        }).unwrap();
        prop_assert_eq!(first, Some(before));
    }
}

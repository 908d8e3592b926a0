use proptest::prelude::*;
use serde::de::{Deserializer, Error as _};
use serde_json::{Map, Value as Json, json};

use super::{Members, Note, Place, Raw, Result, Type, Value, document, late};

/// A view that keeps everything, so that reading can be compared with `serde_json`.
#[derive(Default)]
struct Tree(Option<Json>);

impl<'de> Members<'de> for Tree {
    const OF_ARRAY: bool = true;

    fn member<D: Deserializer<'de>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        let read = tree(value)?;
        if let Json::Object(map) = self.0.get_or_insert_with(|| Json::Object(Map::new())) {
            map.insert(name.to_owned(), read);
        }
        Ok(())
    }

    fn element<D: Deserializer<'de>>(
        &mut self,
        index: usize,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        let read = tree(value)?;
        if let Json::Array(list) = self.0.get_or_insert_with(|| Json::Array(Vec::new())) {
            assert_eq!(index, list.len());
            list.push(read);
        }
        Ok(())
    }
}

/// Reads a value through every way that there is: as its text, and by its members.
fn tree<'de, D: Deserializer<'de>>(value: Value<'_, D>) -> std::result::Result<Json, D::Error> {
    let raw = value.raw()?;
    match raw.json_type() {
        Type::Object | Type::Array => {}
        Type::String => return Ok(raw.string().unwrap().into_owned().into()),
        Type::Number | Type::Bool | Type::Null => {
            return serde_json::from_str(raw.as_str()).map_err(D::Error::custom);
        }
    }
    let note = Note::default();
    let mut members = Tree::default();
    let visited = late(raw, Place::root(&note), |value| value.visit(&mut members));
    let visited = visited.map_err(D::Error::custom)?;
    assert_eq!(visited, raw.json_type());
    let empty = match visited {
        Type::Object => json!({}),
        _ => json!([]),
    };
    Ok(members.0.unwrap_or(empty))
}

#[expect(
    clippy::redundant_closure,
    reason = "the function alone is not general enough for the compiler"
)]
fn read(bytes: &[u8]) -> Result<Json> {
    let note = Note::default();
    document(bytes, Place::root(&note), |value| tree(value))
}

fn arbitrary_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        ".*".prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
            prop::collection::btree_map(".{0,12}", inner, 0..8)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(value in arbitrary_json(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let expected: Json = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read(text.as_bytes()).unwrap(), expected);
    }

    /// A document with one byte changed, added or taken away is still read exactly where `serde_json` reads it. Strings may
    /// differ: Go, and so this module, takes a lone surrogate.
    #[test]
    fn broken_documents_are_refused(
        value in arbitrary_json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..3
    ) {
        let mut bytes = value.to_string().into_bytes();
        let at = at.index(bytes.len());
        match how {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => { bytes.remove(at); }
        }
        match serde_json::from_slice::<Json>(&bytes) {
            Ok(expected) => prop_assert_eq!(read(&bytes).unwrap(), expected),
            Err(_) if bytes.windows(2).any(|w| w == b"\\u") => {}
            Err(_) => { read(&bytes).unwrap_err(); }
        }
    }
}

/// Where no text of the object is kept, too.
#[test]
fn names_with_control_characters_are_refused() {
    let note = Note::default();
    let error = document(b"{\"a\0\":1}", Place::root(&note), |value| {
        value.visit(&mut Tree::default())
    })
    .unwrap_err();
    assert!(error.to_string().contains("control character"), "{error}");
}

#[test]
fn of_two_members_the_last_counts() {
    assert_eq!(
        read(br#"{"a":1,"b":2,"a":3}"#).unwrap(),
        json!({"a": 3, "b": 2})
    );
}

/// Each row was decoded by Go 1.26 (`json.Unmarshal`).
#[test]
fn strings_are_decoded_as_in_go() {
    for (json, go) in [
        (r#""plain""#, "plain"),
        (r#""\u0061\n\"\\\/""#, "a\n\"\\/"),
        (r#""\ud83d\ude42""#, "\u{1f642}"),
        (r#""\ud800""#, "\u{fffd}"),
        (r#""a\udc00b""#, "a\u{fffd}b"),
        (r#""\ud800\ud800\udc00""#, "\u{fffd}\u{10000}"),
        (r#""é\ud800é""#, "é\u{fffd}é"),
    ] {
        let raw = Raw::document(json.as_bytes()).unwrap();
        assert_eq!(raw.string().as_deref(), Some(go), "{json}");
        let key = format!("{{{json}:1}}");
        let members = Raw::document(key.as_bytes()).unwrap().members();
        assert_eq!(members[0].0, go, "{json}");
    }
}

#[test]
fn numbers_are_the_nearest_that_fit() {
    for (json, expected) in [
        ("0", Some(0)),
        ("-3", Some(-3)),
        ("9223372036854775807", Some(i64::MAX)),
        ("1e21", Some(i64::MAX)),
        ("-1e21", Some(i64::MIN)),
        ("1.5", Some(1)),
        ("-0.5", Some(-1)),
        ("\"1\"", None),
        ("null", None),
    ] {
        let raw = Raw::document(json.as_bytes()).unwrap();
        assert_eq!(raw.number(), expected, "{json}");
    }
}

/// A reason never repeats the content.
#[test]
fn reasons_name_the_place_alone() {
    for (json, expected) in [
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        (
            "{\"secret\" 1}",
            "not JSON: expected `:` at line 1 column 11",
        ),
        ("[secret]", "not JSON: expected value at line 1 column 2"),
        ("{} {}", "not JSON: trailing characters at line 1 column 4"),
    ] {
        assert_eq!(read(json.as_bytes()).unwrap_err().to_string(), expected);
    }
    let error = read(b"\"ab\xff\"").unwrap_err();
    assert_eq!(error.to_string(), "not JSON: expected UTF-8 at byte 3");
}

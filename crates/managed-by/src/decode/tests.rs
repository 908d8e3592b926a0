use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::Value as Json;

use super::fields::{self, DefaultOnNull, Text};
use super::{DecodeError, Raw, decode, decode_str};

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, expecting = "an object")]
struct Fields {
    #[serde(deserialize_with = "fields::optional_int32")]
    number: Option<i32>,
    #[serde(deserialize_with = "fields::or_default")]
    flag: bool,
    #[serde(deserialize_with = "fields::object")]
    child: Child,
    list: Vec<DefaultOnNull<Child>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, expecting = "an object")]
struct Child {
    #[serde(deserialize_with = "name")]
    name: String,
}

impl fmt::Debug for DefaultOnNull<Child> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for DefaultOnNull<Child> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

fn name<'de, D: Deserializer<'de>>(json: D) -> Result<String, D::Error> {
    fields::string(json).map(Into::into)
}

fn read(json: &str) -> Result<Fields, String> {
    let read: Result<fields::StrictObject<Fields>, DecodeError> = decode_str(json, PhantomData);
    read.map(|fields::StrictObject(read)| read)
        .map_err(|e| e.to_string())
}

#[test]
fn null_is_an_absent_value() {
    let json = r#"{"number":null,"flag":null,"child":null,"list":[null,{"name":null}]}"#;
    let child = || DefaultOnNull(Child::default());
    let expected = Fields {
        list: vec![child(), child()],
        ..Fields::default()
    };
    assert_eq!(read(json), Ok(expected));
}

/// Error messages never contain values of the document.
#[test]
fn errors_name_the_path() {
    for (json, expected) in [
        (
            "{\"secret\" 1}",
            "not JSON: expected `:` at line 1 column 11",
        ),
        ("[secret]", "expected an object, got an array"),
        ("\"secret\"", "expected an object, got a string"),
        (r#"{"child":[]}"#, "child: expected an object, got an array"),
        (
            r#"{"child":"expected secret"}"#,
            "child: expected an object, got a string",
        ),
        (
            r#"{"list":[{},5]}"#,
            "list[1]: expected an object, got a number",
        ),
        (
            "{\"list\":\n[null, {\n\"name\" :\t{}}]}",
            "list[1].name: expected a string, got an object",
        ),
        (
            r#"{"list":[{"x":[1,{"name":{}}],"name":7}]}"#,
            "list[0].name: expected a string, got a number",
        ),
        (
            r#"{"flag":"true"}"#,
            "flag: expected a boolean, got a string",
        ),
        (
            r#"{"number":"1"}"#,
            "number: expected a 32-bit integer, got a string",
        ),
        (
            r#"{"number":1.0}"#,
            "number: expected a 32-bit integer, got a different number",
        ),
        (
            r#"{"list":[{"name":"a", "name" :1}]}"#,
            "list[0].name: duplicate field",
        ),
        (
            r#"{"ch\u0069ld":{"name":1}}"#,
            "child.name: expected a string, got a number",
        ),
    ] {
        assert_eq!(read(json).unwrap_err(), expected, "{json}");
    }
    let error = decode::<PhantomData<Raw<'_>>>(b"\"ab\xff\"", PhantomData).unwrap_err();
    assert_eq!(error.to_string(), "not JSON: expected UTF-8 at byte 3");
}

/// For an error found at the end of an object, such as a missing field, `serde_json` reports the position after the object.
#[test]
fn errors_at_the_end_of_an_object_have_its_path() {
    #[derive(Debug, Deserialize)]
    struct Required {
        #[expect(dead_code, reason = "the test only decodes it")]
        field: bool,
    }

    for (json, path) in [
        (r#"[{},{"field":true}]"#, "[0]"),
        (r#"[{"field":true},{}]"#, "[1]"),
        (r#"{"a":{},"b":{"field":true}}"#, "a"),
    ] {
        let error = match json.as_bytes() {
            [b'[', ..] => decode_str::<PhantomData<Vec<Required>>>(json, PhantomData).map(drop),
            _ => decode_str::<PhantomData<BTreeMap<&str, Required>>>(json, PhantomData).map(drop),
        };
        assert_eq!(error.unwrap_err().path(), Some(path), "{json}");
    }
}

/// Keys with special characters are quoted in paths, and long ones are replaced by their size.
#[test]
fn untrusted_keys_are_quoted_or_omitted() {
    for (name, expected) in [
        (
            "secret\\n\\u001b[31m".to_owned(),
            "[\"secret\\n\\x1b[31m\"]",
        ),
        ("x".repeat(1000), "[a key of 1000 bytes]"),
    ] {
        let json = format!(r#"{{"{name}":1}}"#);
        let (remaining, failed_at) = (Cell::new(0), Cell::default());
        let seed = FailAt {
            remaining: &remaining,
            path: String::new(),
            failed_at: &failed_at,
        };
        let error = decode_str(&json, seed).unwrap_err();
        assert_eq!(error.path(), Some(expected));
    }
}

/// Go 1.26 (`json.Unmarshal`) decodes each row to the same number, or rejects it.
#[test]
fn int32_is_decoded_as_in_go() {
    for (json, expected) in [
        ("0", Some(0)),
        ("-0", Some(0)),
        ("-2147483648", Some(i32::MIN)),
        ("2147483647", Some(i32::MAX)),
        ("2147483648", None),
        ("18446744073709551616", None),
        ("0.0", None),
        ("1e3", None),
    ] {
        let number = read(&format!(r#"{{"number":{json}}}"#)).ok();
        assert_eq!(number.and_then(|fields| fields.number), expected, "{json}");
    }
}

#[test]
fn numbers_saturate() {
    for (json, expected) in [
        ("0", Some(0)),
        ("-3", Some(-3)),
        ("9223372036854775807", Some(i64::MAX)),
        ("1e21", Some(i64::MAX)),
        ("-1e21", Some(i64::MIN)),
        ("-1e999", Some(i64::MIN)),
        ("1.5", Some(1)),
        ("-0.5", Some(-1)),
        ("\"1\"", None),
        ("null", None),
    ] {
        let raw = Raw::document(json.as_bytes()).unwrap();
        assert_eq!(raw.number(), expected, "{json}");
    }
}

/// Seed that fails at a scalar of a document and records its path.
struct FailAt<'c> {
    /// Number of scalars before the failure.
    remaining: &'c Cell<usize>,
    path: String,
    failed_at: &'c Cell<String>,
}

impl FailAt<'_> {
    fn below(&self, step: &str) -> FailAt<'_> {
        FailAt {
            path: format!("{}{step}", self.path),
            ..*self
        }
    }

    fn scalar<E: Error>(self) -> Result<(), E> {
        let Some(remaining) = self.remaining.get().checked_sub(1) else {
            self.failed_at.set(self.path);
            return Err(E::invalid_type(Unexpected::Other("scalar"), &"nothing"));
        };
        self.remaining.set(remaining);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for FailAt<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

macro_rules! visit_scalars {
    ($($visit:ident $value:ty),*) => {
        $(fn $visit<E: Error>(self, _: $value) -> Result<(), E> {
            self.scalar()
        })*
    };
}

impl<'de> Visitor<'de> for FailAt<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let dot = if self.path.is_empty() { "" } else { "." };
            map.next_value_seed(self.below(&format!("{dot}{name}")))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for index in 0.. {
            let element = self.below(&format!("[{index}]"));
            if seq.next_element_seed(element)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar()
    }

    visit_scalars! { visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64, visit_str &str }
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
            prop::collection::btree_map("[a-zA-Z0-9/._-]{1,12}", inner, 0..8)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// The error has the path of the value where the deserializer stopped.
    #[test]
    fn errors_are_located(value in arbitrary_json(), pretty in any::<bool>(), at in 0_usize..32) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let (remaining, failed_at) = (Cell::new(at), Cell::new(String::new()));
        let seed = FailAt { remaining: &remaining, path: String::new(), failed_at: &failed_at };
        if let Err(error) = decode_str(&text, seed) {
            prop_assert_eq!(error.path(), Some(&*failed_at.take()));
        }
    }
}

//! Values that were kept as their text, to be read from there.

use std::borrow::Cow;

use super::{Json, Malformed, Path, Place, Raw, Result, Type, Value};

/// A value that was kept as its text. Small values are read from it, because each view that is read in passing takes a few
/// kilobytes of the module.
#[derive(Clone, Copy)]
pub(crate) struct Kept<'t, 'a> {
    raw: Raw<'a>,
    place: Place<'t>,
}

impl<'t, 'a> Kept<'t, 'a> {
    /// A value of a document, at its place there.
    pub(crate) fn new(raw: Raw<'a>, place: Place<'t>) -> Self {
        Self { raw, place }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Place<'t> {
        self.place
    }

    /// Its text.
    pub(crate) fn raw(self) -> Raw<'a> {
        self.raw
    }

    /// Whether it is of a type, or `null`. Anything else is noted.
    fn is_or_null(self, wanted: Type, expected: &'static str) -> bool {
        let got = self.raw.json_type();
        if got != wanted && got != Type::Null {
            self.place.expected(expected, got.name());
        }
        got == wanted
    }

    /// Whether it is an object. `null` is an absent one; anything else is noted.
    pub(crate) fn is_object(self) -> bool {
        self.is_or_null(Type::Object, "an object")
    }

    /// Reads an object: hands out its members. Gives `false` for `null`, which is an absent one; anything else is noted.
    pub(crate) fn object_or_null(self, mut member: impl FnMut(&str, Kept<'_, 'a>)) -> bool {
        let is_object = self.is_object();
        if is_object {
            for (name, raw) in self.raw.members() {
                let path = self.place.member(&name);
                let place = self.place.at(&path);
                member(&name, Kept { raw, place });
            }
        }
        is_object
    }

    /// As [`Kept::object_or_null`], but `null` is noted too.
    pub(crate) fn object(self, member: impl FnMut(&str, Kept<'_, 'a>)) {
        if !self.object_or_null(member) {
            // Anything else was noted already, and the first note counts.
            self.place.expected("an object", Type::Null.name());
        }
    }

    /// Reads an array: hands out its elements. Gives `false` for `null`, which is an absent one; anything else is noted.
    pub(crate) fn array_or_null(self, mut element: impl FnMut(usize, Kept<'_, 'a>)) -> bool {
        let is_array = self.is_or_null(Type::Array, "an array");
        if is_array {
            for (index, (_, raw)) in self.raw.elements().into_iter().enumerate() {
                let path = Path::Index(&self.place.path, index);
                let place = self.place.at(&path);
                element(index, Kept { raw, place });
            }
        }
        is_array
    }

    /// Reads a string; `null` is an absent one. Anything else is noted.
    pub(crate) fn string_or_null(self) -> Option<Cow<'a, str>> {
        let string = self.raw.string();
        if string.is_none() {
            self.is_or_null(Type::String, "a string");
        }
        string
    }

    /// Reads a string. Anything else is noted, `null` too.
    pub(crate) fn string(self) -> Cow<'a, str> {
        let got = self.raw.json_type();
        if got != Type::String {
            self.place.expected("a string", got.name());
        }
        self.raw.string().unwrap_or_default()
    }

    /// Reads an integer of 32 bits; `null` is an absent one. Anything else is noted.
    pub(crate) fn int32_or_null(self) -> Option<i32> {
        let expected = "a 32-bit integer";
        if !self.is_or_null(Type::Number, expected) {
            return None;
        }
        let number = self.raw.as_str().parse().ok();
        if number.is_none() {
            self.place.expected(expected, "another number");
        }
        number
    }

    /// Reads a boolean; `null` is `false`. Anything else is noted.
    pub(crate) fn bool_or_null(self) -> bool {
        self.is_or_null(Type::Bool, "a boolean");
        self.raw.as_str() == "true"
    }
}

/// Reads a value whose text was kept, with care.
///
/// # Errors
/// None that input can reach: the text has been found to be JSON.
pub(crate) fn late<'t, 'de, T>(
    raw: Raw<'de>,
    place: Place<'t>,
    read: impl FnOnce(Value<'t, Json<'_, 'de>>) -> std::result::Result<T, serde_json::Error>,
) -> Result<T> {
    let mut json = serde_json::Deserializer::from_str(raw.as_str());
    read(Value {
        json: &mut json,
        place,
        with_care: true,
    })
    .map_err(|e| Malformed::syntax(&e))
}

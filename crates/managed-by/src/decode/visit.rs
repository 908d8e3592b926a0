//! Visitors of JSON objects and arrays: [`Lenient`] accepts values of any type, [`Strict`] only objects.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Type;

/// Visitor of an object or an array.
pub(crate) trait VisitContainer<'de>: Sized {
    fn visit_members<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error>;

    /// Skips the elements by default.
    fn visit_elements<A: SeqAccess<'de>>(&mut self, seq: A) -> Result<(), A::Error> {
        IgnoredAny.visit_seq(seq).map(|_| ())
    }
}

/// Serde visitor that forwards objects and arrays, skips scalars, and returns the type of the value.
pub(crate) struct Lenient<'v, V>(pub(crate) &'v mut V);

impl<'de, V: VisitContainer<'de>> Visitor<'de> for Lenient<'_, V> {
    type Value = Type;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Type, A::Error> {
        self.0.visit_members(map).map(|()| Type::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Type, A::Error> {
        self.0.visit_elements(seq).map(|()| Type::Array)
    }

    fn visit_unit<E>(self) -> Result<Type, E> {
        Ok(Type::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Type, E> {
        Ok(Type::Bool)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Type, E> {
        Ok(Type::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Type, E> {
        Ok(Type::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Type, E> {
        Ok(Type::Number)
    }

    fn visit_str<E>(self, _: &str) -> Result<Type, E> {
        Ok(Type::String)
    }
}

/// Serde visitor that forwards objects and rejects other types. Returns false for `null` in an option.
pub(crate) struct Strict<'v, V>(pub(crate) &'v mut V);

impl<'de, V: VisitContainer<'de>> Visitor<'de> for Strict<'_, V> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_some<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<bool, A::Error> {
        self.0.visit_members(map).map(|()| true)
    }
}

/// Seed that decodes an object with a visitor, and rejects other types.
pub(crate) struct Collect<V>(pub(crate) V);

impl<'de, V: VisitContainer<'de>> DeserializeSeed<'de> for Collect<V> {
    type Value = V;

    fn deserialize<D: Deserializer<'de>>(mut self, json: D) -> Result<V, D::Error> {
        json.deserialize_map(Strict(&mut self.0))?;
        Ok(self.0)
    }
}

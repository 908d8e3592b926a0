//! Functions for `#[serde(deserialize_with = "...")]` that decode fields like Go's decoder, and treat `null` as absent.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::duplicate;

/// Reads a value, or the default for `null`.
pub(crate) fn or_default<'de, D, T>(json: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(json).map(Option::unwrap_or_default)
}

/// Reads an object, or the default for `null`.
pub(crate) fn object<'de, D, T>(json: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    optional_object(json).map(Option::unwrap_or_default)
}

/// Reads an object that may be absent.
pub(crate) fn optional_object<'de, D, T>(json: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let object = Option::<StrictObject<T>>::deserialize(json)?;
    Ok(object.map(|StrictObject(value)| value))
}

/// Reads a string, borrowed unless it contains escapes; empty for `null`.
pub(crate) fn string<'de, D: Deserializer<'de>>(json: D) -> Result<Cow<'de, str>, D::Error> {
    optional_string(json).map(Option::unwrap_or_default)
}

/// Reads a string that may be absent.
pub(crate) fn optional_string<'de, D>(json: D) -> Result<Option<Cow<'de, str>>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<Text<'de>>::deserialize(json)?;
    Ok(text.map(|Text(text)| text))
}

/// Reads an `int32`; 0 for `null`.
pub(crate) fn int32<'de, D: Deserializer<'de>>(json: D) -> Result<i32, D::Error> {
    optional_int32(json).map(Option::unwrap_or_default)
}

/// Reads an `int32` that may be absent.
pub(crate) fn optional_int32<'de, D: Deserializer<'de>>(json: D) -> Result<Option<i32>, D::Error> {
    let number = Option::<Int32>::deserialize(json)?;
    Ok(number.map(|Int32(number)| number))
}

/// Returns true for any value except `null`.
pub(crate) fn is_set<'de, D: Deserializer<'de>>(json: D) -> Result<bool, D::Error> {
    Option::<IgnoredAny>::deserialize(json).map(|value| value.is_some())
}

/// Calls `f` with each element of a list, without collecting it. Returns false for `null`.
pub(crate) fn for_each<'de, D, T>(json: D, f: impl FnMut(T)) -> Result<bool, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Each<F, T>(F, PhantomData<T>);

    impl<'de, F: FnMut(T), T: Deserialize<'de>> Visitor<'de> for Each<F, T> {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_none<E>(self) -> Result<bool, E> {
            Ok(false)
        }

        fn visit_some<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
            json.deserialize_seq(self)
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<bool, A::Error> {
            while let Some(element) = list.next_element()? {
                (self.0)(element);
            }
            Ok(true)
        }
    }

    json.deserialize_option(Each(f, PhantomData))
}

/// Reads the next value of an object into a slot. Fails if the slot is set, because the member is a duplicate.
pub(crate) fn set_once<'de, A, S>(
    slot: &mut Option<S::Value>,
    map: &mut A,
    seed: S,
) -> Result<(), A::Error>
where
    A: MapAccess<'de>,
    S: DeserializeSeed<'de>,
{
    if slot.is_some() {
        return Err(duplicate());
    }
    *slot = Some(map.next_value_seed(seed)?);
    Ok(())
}

/// String, borrowed unless it contains escapes.
#[derive(Default, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Integer that is decoded like Go's `int32`.
struct Int32(i32);

impl<'de> Deserialize<'de> for Int32 {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_i32(Int32Visitor)
    }
}

struct Int32Visitor;

impl Visitor<'_> for Int32Visitor {
    type Value = Int32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a 32-bit integer")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Int32, E> {
        let number = number.try_into().map(Int32);
        number.map_err(|_| E::invalid_value(Unexpected::Other("number"), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Int32, E> {
        self.visit_i64(number.try_into().unwrap_or(i64::MAX))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Int32, E> {
        // Go accepts `-0` as an integer, and PolicyServer sends it as `-0.0`.
        let is_zero = number == 0.0 && number.is_sign_negative();
        self.visit_i64(if is_zero { 0 } else { i64::MAX })
    }
}

/// Struct that can be decoded only from a JSON object. Derived `Deserialize` implementations also accept an array of the field
/// values.
pub(crate) struct StrictObject<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StrictObject<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        T::deserialize(StructFromMap(json)).map(Self)
    }
}

/// Struct that is read from a JSON object, or its default for `null`.
#[derive(Default)]
pub(crate) struct DefaultOnNull<T>(pub(crate) T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for DefaultOnNull<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        object(json).map(Self)
    }
}

struct StructFromMap<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for StructFromMap<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

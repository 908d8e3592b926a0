//! An object by some of its strings.

use std::borrow::Cow;

use serde::de::Deserializer;

use super::{Members, Value};

/// The members of an object that are strings, by name. `null` is an absent one, which is empty here; anything else is noted.
pub(crate) struct Strings<'s, 'a> {
    names: &'s [&'s str],
    found: &'s mut [Cow<'a, str>],
}

impl<'s, 'a> Strings<'s, 'a> {
    /// A view that puts each string in the place of its name.
    pub(crate) fn new(names: &'s [&'s str], found: &'s mut [Cow<'a, str>]) -> Self {
        Self { names, found }
    }
}

impl<'a> Members<'a> for Strings<'_, 'a> {
    const IS_SMALL: bool = true;

    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let mut found = self.names.iter().zip(&mut *self.found);
        match found.find(|(known, _)| **known == name) {
            Some((_, found)) => *found = value.string_or_null()?.unwrap_or_default(),
            None => value.skip()?,
        }
        Ok(())
    }
}

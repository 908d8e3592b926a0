//! Values by name. There is one map, of names to places, for whoever needs one: each further type of map takes nearly three
//! kilobytes of the npm package's module.

#![expect(
    clippy::disallowed_types,
    reason = "`Named::iter` sorts, and nothing else shows an order"
)]

use std::borrow::Cow;
use std::collections::HashMap;

/// Values, each with a name.
#[derive(Debug, Clone)]
pub struct Named<'n, T> {
    places: HashMap<Cow<'n, str>, usize>,
    values: Vec<Option<T>>,
    /// Places that hold nothing any more.
    free: Vec<usize>,
}

impl<T> Default for Named<'_, T> {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<'n, T> Named<'n, T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.at(*self.places.get(name)?)
    }

    /// All of them, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let mut names: Vec<(&str, usize)> = Vec::with_capacity(self.places.len());
        names.extend(self.places.iter().map(|(name, place)| (&**name, *place)));
        names.sort_unstable();
        let all = names.into_iter();
        all.filter_map(|(name, place)| Some((name, self.at(place)?)))
    }

    /// Puts a value in, in place of the one that has the name.
    pub(crate) fn insert(&mut self, name: Cow<'n, str>, value: T) {
        let free = self.free.last().copied().unwrap_or(self.values.len());
        let place = *self.places.entry(name).or_insert(free);
        if let Some(at) = self.values.get_mut(place) {
            if self.free.last() == Some(&place) {
                self.free.pop();
            }
            *at = Some(value);
        } else {
            self.values.push(Some(value));
        }
    }

    /// Takes the value of a name away.
    pub(crate) fn remove(&mut self, name: &str) {
        let Some(place) = self.places.remove(name) else {
            return;
        };
        if let Some(at) = self.values.get_mut(place) {
            *at = None;
            self.free.push(place);
        }
    }

    fn at(&self, place: usize) -> Option<&T> {
        self.values.get(place)?.as_ref()
    }
}

/// The same values under the same names, whenever they were put in.
impl<T: PartialEq> PartialEq for Named<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Named<'_, T> {}

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn a_place_is_used_again() {
        let mut named = Named::default();
        for (name, value) in [("b", 1), ("a", 2), ("c", 3), ("a", 4)] {
            named.insert(name.into(), value);
        }
        assert!(named.iter().eq([("a", &4), ("b", &1), ("c", &3)]));
        named.remove("b");
        named.remove("a");
        named.remove("none");
        assert_eq!((named.get("a"), named.len()), (None, 1));
        // What is known keeps its place, though others are free.
        named.insert("c".into(), 5);
        for (name, value) in [("d", 6), ("a", 7), ("e", 8)] {
            named.insert(name.into(), value);
        }
        assert!(
            named
                .iter()
                .eq([("a", &7), ("c", &5), ("d", &6), ("e", &8)])
        );
        assert_eq!((named.values.len(), named.free.len()), (4, 0));
        let mut same = Named::default();
        for (name, value) in [("e", 8), ("d", 6), ("c", 5), ("a", 7)] {
            same.insert(name.into(), value);
        }
        assert_eq!(named, same);
    }
}

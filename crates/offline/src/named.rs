//! Values by name. There is one map, of names to places, for whoever needs one: each further type of map takes nearly three
//! kilobytes of the npm package's module.

#![expect(
    clippy::disallowed_types,
    reason = "what is shown is sorted, and comes from no map"
)]

use std::borrow::Cow;
use std::collections::HashMap;

/// Values, each with a name.
#[derive(Debug)]
pub(crate) struct Named<'n, T> {
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
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.at(*self.places.get(name)?)
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.values.get_mut(*self.places.get(name)?)?.as_mut()
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let all = self.places.iter();
        all.filter_map(|(name, place)| Some((&**name, self.at(*place)?)))
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

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn a_place_is_used_again() {
        let mut named = Named::default();
        for (name, value) in [("b", 1), ("a", 2), ("c", 3), ("a", 4)] {
            named.insert(name.into(), value);
        }
        let all = |named: &Named<'_, i32>| {
            let mut all: Vec<_> = named.iter().map(|(name, n)| format!("{name}{n}")).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(all(&named), ["a4", "b1", "c3"]);
        named.remove("b");
        named.remove("a");
        named.remove("none");
        assert_eq!((named.get("a"), named.len()), (None, 1));
        // What is known keeps its place, though others are free.
        named.insert("c".into(), 5);
        for (name, value) in [("d", 6), ("a", 7), ("e", 8)] {
            named.insert(name.into(), value);
        }
        assert_eq!(all(&named), ["a7", "c5", "d6", "e8"]);
        assert_eq!((named.values.len(), named.free.len()), (4, 0));
    }
}

//! A map from names to values. It wraps the only instance of `HashMap`, from names to indexes, because each further
//! instance adds nearly three kilobytes to the npm package's module.

#![expect(
    clippy::disallowed_types,
    reason = "what is shown is sorted, and comes from no map"
)]

use std::borrow::Cow;
use std::collections::HashMap;

/// Values by name.
#[derive(Debug)]
pub(crate) struct Named<'n, T> {
    places: HashMap<Cow<'n, str>, usize>,
    values: Vec<Option<T>>,
    /// Indexes of free slots.
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
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.at(*self.places.get(name)?)
    }

    /// Returns the value of a name for modification.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.values.get_mut(*self.places.get(name)?)?.as_mut()
    }

    /// Iterates in unspecified order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let all = self.places.iter();
        all.filter_map(|(name, place)| Some((&**name, self.at(*place)?)))
    }

    /// Inserts a value, replacing the value of the same name.
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

    /// Removes a value.
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
        // A replaced value keeps its index although others are free.
        named.insert("c".into(), 5);
        for (name, value) in [("d", 6), ("a", 7), ("e", 8)] {
            named.insert(name.into(), value);
        }
        assert_eq!(all(&named), ["a7", "c5", "d6", "e8"]);
        assert_eq!((named.values.len(), named.free.len()), (4, 0));
    }
}

//! Where the members of an object stand in its text. `serde_json` does not say, but it borrows names from the text.

use std::cell::RefCell;

/// The members of an object, name and value as they are written.
pub(crate) type Written<'a> = Vec<(&'a str, &'a str)>;

/// The names of the members of an object, in the order in which they were read.
#[derive(Debug)]
pub(crate) struct Names(RefCell<Vec<(usize, usize)>>);

/// Few objects have more members.
const USUAL: usize = 16;

impl Default for Names {
    fn default() -> Self {
        Self(RefCell::new(Vec::with_capacity(USUAL)))
    }
}

impl Names {
    /// Remembers the place of a name.
    pub(crate) fn read(&self, name: &str) {
        let place = (name.as_ptr().addr(), name.len());
        self.0.borrow_mut().push(place);
    }

    /// The members of the object whose names these are, if it is written as an API server writes it, without spaces before its
    /// members. [`None`] if it is not, if a name is not borrowed, because it is written with escapes, or if these are the names of
    /// several objects: their places do not fit then.
    pub(crate) fn members<'a>(&self, object: &'a str) -> Option<Written<'a>> {
        let mut rest = object.strip_prefix('{')?.strip_suffix('}')?;
        let start = rest.as_ptr().addr();
        let names = self.0.borrow();
        let mut members = Vec::with_capacity(names.len());
        for (at, (address, length)) in names.iter().enumerate().rev() {
            let quote = address.checked_sub(start)?.checked_sub(1)?;
            let (before, found) = rest.split_at_checked(quote)?;
            let (name, value) = found.split_at_checked(length.checked_add(2)?)?;
            let value = value.strip_prefix(':')?;
            members.push((name, value.trim_ascii()));
            rest = before;
            if at > 0 {
                rest = rest.strip_suffix(',')?;
            }
        }
        members.reverse();
        rest.is_empty().then_some(members)
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    /// What is remembered of names and of the object around them.
    fn members<'a>(object: &'a str, names: &[&str]) -> Option<super::Written<'a>> {
        let read = Names::default();
        for name in names {
            read.read(name);
        }
        read.members(object)
    }

    #[test]
    fn values_stand_between_names() {
        let object = "{\"a\":{\"b\":[1,2]},\"c\":null}";
        let [a, b, c] = [2, 7, 18].map(|at| object.get(at..=at).unwrap());
        let both = Some(vec![("\"a\"", "{\"b\":[1,2]}"), ("\"c\"", "null")]);
        assert_eq!(members(object, &[a, c]), both);
        assert_eq!(members("{}", &[]), Some(vec![]));
        for (names, why) in [
            (vec![], "members without a name"),
            (vec![c], "the first one without a name"),
            (vec![a, b, c], "a name from within"),
            (vec![c, a], "another order"),
            (vec![a, c, a, c], "read twice"),
            (vec!["a", c], "a name from elsewhere"),
        ] {
            assert_eq!(members(object, &names), None, "{why}");
        }
    }
}

//! Where the members of an object stand in its text. `serde_json` does not say, but it borrows names from the text.

use std::cell::RefCell;

/// The members of an object, name and value as they are written.
pub(crate) type Written<'a> = Vec<(&'a str, &'a str)>;

/// The names of the members of an object, in the order in which they were read.
#[derive(Debug, Default)]
pub(crate) struct Names(RefCell<Vec<(usize, usize)>>);

impl Names {
    /// Remembers the place of a name.
    pub(crate) fn read(&self, name: &str) {
        let place = (name.as_ptr().addr(), name.len());
        self.0.borrow_mut().push(place);
    }

    /// The members of the object whose names these are. [`None`] if a name is not borrowed, because it is written with escapes,
    /// or if these are the names of several objects: their places do not fit then.
    pub(crate) fn members<'a>(&self, object: &'a str) -> Option<Written<'a>> {
        let mut rest = object.trim_ascii().strip_prefix('{')?.strip_suffix('}')?;
        let start = rest.as_ptr().addr();
        let names = self.0.borrow();
        let mut members = Vec::with_capacity(names.len());
        for (at, (address, length)) in names.iter().enumerate().rev() {
            let quote = address.checked_sub(start)?.checked_sub(1)?;
            let (before, found) = rest.split_at_checked(quote)?;
            let (name, value) = found.split_at_checked(length.checked_add(2)?)?;
            let value = value.trim_ascii_start().strip_prefix(':')?;
            members.push((name, value.trim_ascii()));
            rest = before.trim_ascii_end();
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
        names.iter().for_each(|name| read.read(name));
        read.members(object)
    }

    #[test]
    fn values_stand_between_names() {
        let object = " { \"a\" : {\"b\":[1,2]} ,\"c\":null}\n";
        let (a, b, c) = (&object[4..5], &object[11..12], &object[23..24]);
        let both = Some(vec![("\"a\"", "{\"b\":[1,2]}"), ("\"c\"", "null")]);
        assert_eq!(members(object, &[a, c]), both);
        assert_eq!(members("{ }", &[]), Some(vec![]));
        for (names, why) in [
            (vec![], "a member without a name"),
            (vec![a], "the last one without a name"),
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

//! How settings are read: what is wrong is noted, and reading goes on.

use std::borrow::Cow;

use super::problem::{Problem, Problems, Rejection};
use crate::decode::{Part, Parts, Path, Raw, Type, shown};

/// Declares the keys of an object, each with its name.
macro_rules! declare_keys {
    ($keys:ident { $($name:literal => $key:ident,)+ }) => {
        #[derive(Clone, Copy, PartialEq)]
        enum $keys {
            $($key,)+
        }

        impl $keys {
            const ALL: &[(&'static str, Self)] = &[$(($name, Self::$key),)+];
        }
    };
}
pub(super) use declare_keys;

/// No list may have more items.
const MAX_ITEMS: usize = 256;

/// No settings may have more controllers, or more entries for namespaces.
pub(super) const MAX_ENTRIES: usize = 1024;

/// What is wrong with a text, if anything.
pub(super) type Wrong<'w> = &'w dyn Fn(&str) -> Option<Rejection>;

/// A list of strings that the settings may hold.
#[derive(Clone, Copy)]
pub(super) struct List<'w> {
    /// Words for it: `a list of namespaces`.
    pub(super) expected: &'static str,
    /// What is wrong with an item, if anything.
    pub(super) wrong: Wrong<'w>,
    /// Whether that takes a look at other parts of the settings.
    pub(super) is_semantic: bool,
    /// Whether an earlier item makes a later one useless.
    pub(super) covers: fn(&str, &str) -> bool,
    /// How many items it may have.
    pub(super) at_most: usize,
    /// What to add where it is empty: how to mean all. [`None`] where it may be empty.
    pub(super) instead_of_none: Option<&'static str>,
}

impl<'w> List<'w> {
    /// A list that may be empty, of items that differ.
    pub(super) const fn of(expected: &'static str, wrong: Wrong<'w>) -> Self {
        Self {
            expected,
            wrong,
            is_semantic: false,
            covers: str::eq,
            at_most: MAX_ITEMS,
            instead_of_none: None,
        }
    }
}

/// One reading of settings, and what was wrong in it.
pub(super) struct Reading {
    problems: Problems,
    /// Whether to look for what contradicts something else, beside what cannot be read: too costly for each request.
    pub(super) is_complete: bool,
}

impl Reading {
    /// A reading that looks for everything that is wrong.
    pub(super) fn complete() -> Self {
        Self {
            problems: Problems::none(),
            is_complete: true,
        }
    }

    /// A reading that looks for what cannot be read.
    pub(super) fn lazy() -> Self {
        Self {
            is_complete: false,
            ..Self::complete()
        }
    }

    pub(super) fn push(&mut self, problem: Problem) {
        self.push_with(|| problem);
    }

    /// As [`Reading::push`], of a problem whose text is made only where it is kept.
    pub(super) fn push_with(&mut self, problem: impl FnOnce() -> Problem) {
        self.problems.push_with(problem);
    }

    /// What was read, unless something was wrong.
    pub(super) fn end<T>(self, read: T) -> Result<T, Problems> {
        match self.problems.count() {
            0 => Ok(read),
            _ => Err(self.problems),
        }
    }

    /// Whether a value is of a type. Another one is a problem.
    pub(super) fn is(
        &mut self,
        value: Raw<'_>,
        wanted: Type,
        path: &Path<'_>,
        expected: &str,
    ) -> bool {
        let is = value.json_type() == wanted;
        if !is {
            self.push_with(|| Problem::wrong(path, value, expected));
        }
        is
    }

    /// What is in a section of a type. Another one is a problem.
    pub(super) fn parts<'a>(
        &mut self,
        section: &Part<'a>,
        wanted: Type,
        path: &Path<'_>,
        expected: &str,
    ) -> Option<Parts<'a>> {
        let is = self.is(section.raw(), wanted, path, expected);
        is.then(|| section.parts().into_owned())
    }

    /// Reads an object with known keys: `field` is called for each, unless its value is `null`, which is as good as
    /// absent.
    pub(super) fn fields<'a, K: Copy>(
        &mut self,
        value: Raw<'a>,
        path: &Path<'_>,
        keys: &[(&'static str, K)],
        field: impl FnMut(&mut Self, Raw<'a>, K, &Path<'_>),
    ) {
        if self.is(value, Type::Object, path, "an object") {
            self.members(&value.members(), path, keys, field);
        }
    }

    /// The same with the members of the object.
    pub(super) fn members<'a, K: Copy>(
        &mut self,
        members: &[(Cow<'a, str>, Raw<'a>)],
        path: &Path<'_>,
        keys: &[(&'static str, K)],
        mut field: impl FnMut(&mut Self, Raw<'a>, K, &Path<'_>),
    ) {
        let mut seen = Vec::with_capacity(keys.len());
        for (key, value) in members {
            let known = self.known(key, path, keys, &mut seen);
            if let Some((name, key)) = known.filter(|_| value.json_type() != Type::Null) {
                field(self, *value, key, &Path::Member(path, name));
            }
        }
    }

    /// Returns the key of a member and its name, if it is known. An unknown key is a problem, and so is one that was seen.
    #[inline(never)]
    pub(super) fn known<K: Copy>(
        &mut self,
        key: &str,
        path: &Path<'_>,
        keys: &[(&'static str, K)],
        seen: &mut Vec<&'static str>,
    ) -> Option<(&'static str, K)> {
        let Some(&(name, known)) = keys.iter().find(|(name, _)| *name == key) else {
            self.push_with(|| {
                let names: Vec<_> = keys.iter().map(|(name, _)| *name).collect();
                Problem::unknown_key(path, key, &names)
            });
            return None;
        };
        if seen.contains(&name) {
            self.push(Problem::twice(&Path::Member(path, name)));
        }
        seen.push(name);
        Some((name, known))
    }

    /// Reads one of a few words. [`None`] is a problem.
    pub(super) fn word<T: Copy>(
        &mut self,
        value: Raw<'_>,
        path: &Path<'_>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let got = value.string();
        let known = words.iter().find(|(word, _)| got.as_deref() == Some(*word));
        if known.is_none() {
            self.push_with(|| {
                let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                Problem::not_one_of(path, value, &words)
            });
        }
        known.map(|(_, meant)| *meant)
    }

    /// Reads a string. One that is wrong is read too: with a problem, nobody asks.
    pub(super) fn text<'a>(
        &mut self,
        value: Raw<'a>,
        path: &Path<'_>,
        wrong: Wrong<'_>,
    ) -> Cow<'a, str> {
        self.checked(value, path, wrong, Problem::new)
    }

    fn checked<'a>(
        &mut self,
        value: Raw<'a>,
        path: &Path<'_>,
        wrong: Wrong<'_>,
        problem: fn(&Path<'_>, Rejection) -> Problem,
    ) -> Cow<'a, str> {
        if !self.is(value, Type::String, path, "a string") {
            return Cow::Borrowed("");
        }
        let text = value.string().unwrap_or_default();
        if let Some(wrong) = wrong(&text) {
            let got = ["got ", &shown(&text, "string"), ", "].concat();
            self.push(problem(path, wrong.after(&got)));
        }
        text
    }

    /// Reads a list of strings. An item that is wrong is in it too: with a problem, nobody asks.
    pub(super) fn strings<'a>(
        &mut self,
        value: Raw<'a>,
        path: &Path<'_>,
        list: &List<'_>,
    ) -> Vec<Cow<'a, str>> {
        let mut items: Vec<Cow<'a, str>> = Vec::new();
        if !self.is(value, Type::Array, path, list.expected) {
            return items;
        }
        let elements = value.elements();
        let count = elements.len();
        for (index, (_, element)) in elements.iter().take(list.at_most).enumerate() {
            let path = Path::Index(path, index);
            let before = self.problems.count();
            let problem = if list.is_semantic {
                Problem::semantic
            } else {
                Problem::new
            };
            let item = self.checked(*element, &path, list.wrong, problem);
            if self.is_complete
                && self.problems.count() == before
                && let Some(earlier) = items.iter().position(|e| (list.covers)(e, &item))
            {
                self.push(Problem::useless(&path, &item, earlier));
            }
            items.push(item);
        }
        if count > list.at_most {
            let at_most = list.at_most;
            let text = format!("got {count} items, expected at most {at_most}");
            self.push(Problem::new(path, text));
        }
        if count == 0
            && let Some(instead) = list.instead_of_none
        {
            let text = format!("got an empty list, expected at least one item{instead}");
            self.push(Problem::new(path, text));
        }
        items
    }
}

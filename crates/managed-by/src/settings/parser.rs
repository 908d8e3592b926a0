//! Parser of settings. It collects problems and continues, so that all are reported at once.

use std::borrow::Cow;

use super::error::{Rejection, SettingsError, SettingsErrors};
use crate::decode::{Entries, Node, Path, Raw, Type, quote_or_size};

/// Declares an enum of the keys of an object, with their names.
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

/// Default maximum number of items in a list.
const MAX_ITEMS: usize = 256;

/// Maximum number of controllers, and of entries in `namespaces`.
pub(super) const MAX_ENTRIES: usize = 1024;

pub(super) type Validator<'w> = &'w dyn Fn(&str) -> Option<Rejection>;

/// Schema of a list of strings.
#[derive(Clone, Copy)]
pub(super) struct ListSchema<'w> {
    /// Description for messages: `a list of namespaces`.
    pub(super) expected: &'static str,
    pub(super) validate: Validator<'w>,
    /// Returns true if the first item covers the second.
    pub(super) covers: fn(&str, &str) -> bool,
    pub(super) max_items: usize,
    /// Hint on how to match everything, for an empty list. [`None`] if the list may be empty.
    pub(super) empty_hint: Option<&'static str>,
}

impl<'w> ListSchema<'w> {
    /// Creates a schema of a list that may be empty and has no duplicates.
    pub(super) const fn new(expected: &'static str, validate: Validator<'w>) -> Self {
        Self {
            expected,
            validate,
            covers: str::eq,
            max_items: MAX_ITEMS,
            empty_hint: None,
        }
    }
}

/// Parser with the problems so far.
pub(super) struct Parser {
    problems: SettingsErrors,
    /// True to also report list items that an earlier item covers, which is too expensive for every request.
    pub(super) checks_duplicates: bool,
}

impl Parser {
    /// Creates a parser that also reports list items that an earlier item covers.
    pub(super) fn with_duplicate_checks() -> Self {
        Self {
            problems: SettingsErrors::new(),
            checks_duplicates: true,
        }
    }

    /// Creates a parser that doesn't compare the items of a list.
    pub(super) fn without_duplicate_checks() -> Self {
        Self {
            checks_duplicates: false,
            ..Self::with_duplicate_checks()
        }
    }

    pub(super) fn push(&mut self, problem: SettingsError) {
        self.push_with(|| problem);
    }

    /// Adds a problem. Formats its text only if it is listed.
    pub(super) fn push_with(&mut self, problem: impl FnOnce() -> SettingsError) {
        self.problems.push_with(problem);
    }

    /// Returns the parsed value, or the problems if there are any.
    pub(super) fn finish<T>(self, read: T) -> Result<T, SettingsErrors> {
        match self.problems.count() {
            0 => Ok(read),
            _ => Err(self.problems),
        }
    }

    /// Returns true if the value has the wanted type; otherwise reports a problem.
    pub(super) fn expect_type(
        &mut self,
        value: Raw<'_>,
        wanted: Type,
        path: &Path<'_>,
        expected: &str,
    ) -> bool {
        let has_type = value.json_type() == wanted;
        if !has_type {
            self.push_with(|| SettingsError::wrong_type(path, value, expected));
        }
        has_type
    }

    /// Returns the members or elements of a section if it has the wanted type; otherwise reports a problem.
    pub(super) fn entries<'a>(
        &mut self,
        section: &Node<'a>,
        wanted: Type,
        path: &Path<'_>,
        expected: &str,
    ) -> Option<Entries<'a>> {
        let has_type = self.expect_type(section.raw_or_empty(), wanted, path, expected);
        has_type.then(|| section.entries().into_owned())
    }

    /// Parses an object: calls `field` for each known key, unless its value is `null`.
    pub(super) fn parse_object<'a, K: Copy>(
        &mut self,
        value: Raw<'a>,
        path: &Path<'_>,
        keys: &[(&'static str, K)],
        field: impl FnMut(&mut Self, Raw<'a>, K, &Path<'_>),
    ) {
        if self.expect_type(value, Type::Object, path, "an object") {
            self.parse_members(&value.members(), path, keys, field);
        }
    }

    /// Parses the members of an object like [`Parser::parse_object`].
    pub(super) fn parse_members<'a, K: Copy>(
        &mut self,
        members: &[(Cow<'a, str>, Raw<'a>)],
        path: &Path<'_>,
        keys: &[(&'static str, K)],
        mut field: impl FnMut(&mut Self, Raw<'a>, K, &Path<'_>),
    ) {
        let mut seen = Vec::with_capacity(keys.len());
        for (key, value) in members {
            let known = self.lookup_key(key, path, keys, &mut seen);
            if let Some((name, key)) = known.filter(|_| value.json_type() != Type::Null) {
                field(self, *value, key, &Path::Member(path, name));
            }
        }
    }

    /// Returns a known key and its name. Reports unknown and duplicate keys.
    #[inline(never)]
    pub(super) fn lookup_key<K: Copy>(
        &mut self,
        key: &str,
        path: &Path<'_>,
        keys: &[(&'static str, K)],
        seen: &mut Vec<&'static str>,
    ) -> Option<(&'static str, K)> {
        let Some(&(name, known)) = keys.iter().find(|(name, _)| *name == key) else {
            self.push_with(|| {
                let names: Vec<_> = keys.iter().map(|(name, _)| *name).collect();
                SettingsError::unknown_field(path, key, &names)
            });
            return None;
        };
        if seen.contains(&name) {
            self.push(SettingsError::duplicate_field(&Path::Member(path, name)));
        }
        seen.push(name);
        Some((name, known))
    }

    /// Parses one of several strings. Reports a problem and returns [`None`] for any other value.
    pub(super) fn parse_enum<T: Copy>(
        &mut self,
        value: Raw<'_>,
        path: &Path<'_>,
        variants: &[(&'static str, T)],
    ) -> Option<T> {
        let got = value.string();
        let known = variants
            .iter()
            .find(|(word, _)| got.as_deref() == Some(*word));
        if known.is_none() {
            self.push_with(|| {
                let variants: Vec<_> = variants.iter().map(|(word, _)| *word).collect();
                SettingsError::not_one_of(path, value, &variants)
            });
        }
        known.map(|(_, value)| *value)
    }

    /// Parses a string. If it is invalid, reports a problem and still returns it.
    pub(super) fn parse_string<'a>(
        &mut self,
        value: Raw<'a>,
        path: &Path<'_>,
        validate: Validator<'_>,
    ) -> Cow<'a, str> {
        if !self.expect_type(value, Type::String, path, "a string") {
            return Cow::Borrowed("");
        }
        let text = value.string().unwrap_or_default();
        if text.is_empty() && matches!(path, Path::Index(..)) {
            self.push(SettingsError::wrong_type(path, value, "a value"));
        } else if let Some(rejection) = validate(&text) {
            let got = ["Invalid value: ", &quote_or_size(&text, "string"), ": "].concat();
            self.push(SettingsError::new(path, rejection.with_prefix(&got)));
        }
        text
    }

    /// Parses a list of strings. If an item is invalid, reports a problem and still includes it.
    pub(super) fn parse_string_list<'a>(
        &mut self,
        value: Raw<'a>,
        path: &Path<'_>,
        list: &ListSchema<'_>,
    ) -> Vec<Cow<'a, str>> {
        let mut items: Vec<Cow<'a, str>> = Vec::new();
        if !self.expect_type(value, Type::Array, path, list.expected) {
            return items;
        }
        let elements = value.elements();
        let count = elements.len();
        for (index, (_, element)) in elements.iter().take(list.max_items).enumerate() {
            let path = Path::Index(path, index);
            let before = self.problems.count();
            let item = self.parse_string(*element, &path, list.validate);
            if self.checks_duplicates
                && self.problems.count() == before
                && let Some(earlier) = items.iter().position(|e| (list.covers)(e, &item))
            {
                self.push(SettingsError::covered(&path, &item, earlier));
            }
            items.push(item);
        }
        if count > list.max_items {
            let max_items = list.max_items;
            let text = format!("Too many: {count}: must have at most {max_items} items");
            self.push(SettingsError::new(path, text));
        }
        if count == 0
            && let Some(hint) = list.empty_hint
        {
            let text = format!("Required value: must have at least one item{hint}");
            self.push(SettingsError::new(path, text));
        }
        items
    }
}

//! How settings are read: what is wrong is noted, and reading goes on.

use std::borrow::Cow;

use super::path::Path;
use super::problem::{Got, Problem, Problems};
use crate::json::{Reader, Result, Type};

/// No list may have more items.
pub(super) const MAX_ITEMS: usize = 256;

/// No settings may have more controllers, or more entries for namespaces.
pub(super) const MAX_ENTRIES: usize = 1024;

/// No more problems are told one by one.
const MAX_PROBLEMS: usize = 50;

/// No object with known keys has more of them.
const MAX_KEYS: usize = 16;

/// A list of strings that the settings may hold.
pub(super) struct List {
    /// Words for it: `a list of namespaces`.
    pub(super) expected: &'static str,
    /// What is wrong with an item, if anything.
    pub(super) wrong: fn(&str) -> Option<String>,
    /// Whether an earlier item makes a later one useless.
    pub(super) covers: fn(&str, &str) -> bool,
    /// What to do instead of listing nothing, unless that is allowed.
    pub(super) instead_of_none: Option<&'static str>,
}

/// One reading of settings, and what was wrong in it.
pub(super) struct Reading {
    problems: Vec<Problem>,
    /// How many were not noted any more.
    more: usize,
    /// Whether to look for what makes no sense beside what cannot be read: too costly for each request.
    pub(super) complete: bool,
}

impl Reading {
    pub(super) fn new(complete: bool) -> Self {
        Self {
            problems: Vec::new(),
            more: 0,
            complete,
        }
    }

    pub(super) fn push(&mut self, problem: Problem) {
        self.push_with(|| problem);
    }

    /// Notes a problem, unless there are so many that nobody reads on: its text is made only where it is kept.
    pub(super) fn push_with(&mut self, problem: impl FnOnce() -> Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem());
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Whether nothing was wrong so far.
    pub(super) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Everything that was wrong.
    pub(super) fn end(self) -> std::result::Result<(), Problems> {
        Problems::none_or(self.problems, self.more)
    }

    /// Reads what is under a path; what is no JSON there is a problem.
    pub(super) fn within<T>(
        &mut self,
        path: &Path<'_>,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Option<T> {
        let read = read(self);
        read.map_err(|e| self.push(Problem::new(path, e.to_string())))
            .ok()
    }

    /// Whether a value of the type comes next. Another one is passed over, and a problem.
    pub(super) fn is(
        &mut self,
        reader: &mut Reader<'_>,
        wanted: Type,
        path: &Path<'_>,
        expected: &str,
    ) -> Result<bool> {
        if reader.peek()? == wanted {
            return Ok(true);
        }
        let got = Got::read(reader)?;
        self.push(Problem::wrong(path, &got, expected));
        Ok(false)
    }

    /// Reads an object with known keys: `field` is called for each, unless its value is `null`, which is as good as
    /// absent.
    pub(super) fn fields<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        path: &Path<'_>,
        keys: &[&'static str],
        field: &mut dyn FnMut(&mut Self, &mut Reader<'a>, &'static str, &Path<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.is(reader, Type::Object, path, "an object")? {
            return Ok(());
        }
        let mut seen = [false; MAX_KEYS];
        reader.object(|reader, key| {
            let index = keys.iter().position(|k| k.as_bytes() == key);
            let known = index.and_then(|i| seen.get_mut(i).zip(keys.get(i)));
            let Some((seen, &name)) = known else {
                self.push_with(|| Problem::unknown_key(path, key, keys));
                return reader.skip();
            };
            let path = Path::Field(path, name);
            if std::mem::replace(seen, true) {
                self.push(Problem::twice(&path));
            }
            if reader.peek()? == Type::Null {
                return reader.skip();
            }
            field(self, reader, name, &path)
        })
    }

    /// Reads one of a few words. [`None`] is a problem.
    pub(super) fn word<T: Copy, const N: usize>(
        &mut self,
        reader: &mut Reader<'_>,
        path: &Path<'_>,
        words: [(&'static str, T); N],
    ) -> Result<Option<T>> {
        if reader.peek()? == Type::String {
            let start = reader.mark();
            let got = reader.string()?;
            if let Some((_, meant)) = words.iter().find(|(word, _)| *word == got) {
                return Ok(Some(*meant));
            }
            reader.rewind(start);
        }
        let got = Got::read(reader)?;
        let words = words.map(|(word, _)| word);
        self.push(Problem::not_one_of(path, &got, &words));
        Ok(None)
    }

    /// Reads a list of strings. An item that is wrong stands in it too: with a problem, nobody asks.
    pub(super) fn strings<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        path: &Path<'_>,
        list: &List,
    ) -> Result<Vec<Cow<'a, str>>> {
        let mut items: Vec<Cow<'a, str>> = Vec::new();
        if !self.is(reader, Type::Array, path, list.expected)? {
            return Ok(items);
        }
        let mut count = 0;
        reader.array(|reader, index| {
            count = index.saturating_add(1);
            if count > MAX_ITEMS {
                return reader.skip();
            }
            let path = Path::Item(path, index);
            if !self.is(reader, Type::String, &path, "a string")? {
                items.push(Cow::Borrowed(""));
                return Ok(());
            }
            let item = reader.string()?;
            if let Some(wrong) = (list.wrong)(&item) {
                let text = ["got ", &super::path::shown(&item, "string"), ", ", &wrong];
                self.push(Problem::new(&path, text.concat()));
            } else if self.complete
                && let Some(earlier) = items.iter().position(|e| (list.covers)(e, &item))
            {
                self.push(Problem::useless(&path, &item, earlier));
            }
            items.push(item);
            Ok(())
        })?;
        if count > MAX_ITEMS {
            let text = format!("got {count} items, expected at most {MAX_ITEMS}");
            self.push(Problem::new(path, text));
        }
        if count == 0
            && let Some(instead) = list.instead_of_none
        {
            let text =
                format!("got an empty list, expected at least one item; {instead} to mean all");
            self.push(Problem::new(path, text));
        }
        Ok(items)
    }
}
